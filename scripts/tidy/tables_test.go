package tidy

import (
	"go/ast"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tables lists the tables whose rows are features that a client can name: package-level literals, or literals that a
// method returns. cases is the position of a row's case files, in which the star stands for the row's name. A table
// that does not exist yet is not a violation.
var tables = []struct{ dir, name, cases string }{
	{"collection/agg", "Accumulators", "testdata/acc_*.txt"},
	{"collection/agg", "Stages", "testdata/*.txt"},
	{"collection/agg", "WindowFunctions", "testdata/window_*.txt"},
	{"collection/expr", "Operators", "testdata/*.txt"},
	{"collection/index", "Kinds", "testdata/*.txt"},
	{"collection/match", "Operators", "testdata/*.txt"},
	{"collection/update", "Operators", "testdata/*.txt"},
	// The cases of commands are in compat-tests/behaviour/cases, ordered by a client's actions, not by command.
	{"wire/command/access", "Commands", ""},
	{"wire/command/data", "Commands", ""},
	{"wire/command/failpoint", "Commands", ""},
	{"wire/command/plans", "Commands", ""},
	{"wire/command/schema", "Commands", ""},
	{"wire/command/sessions", "Commands", ""},
	{"wire/command/settings", "Commands", ""},
	{"wire/command/shards", "Commands", ""},
	{"wire/command/status", "Commands", ""},
}

// row is one row of a table.
type row struct {
	name    string // value of its Name field
	doc     string // value of its Doc field
	refused bool   // known but not implemented
	node    ast.Expr
}

// tableRows finds a table and its rows in the syntax of a package. A row is a composite literal, or the name of a
// package-level variable that is one.
func (r *repo) tableRows(dir, name string) (where ast.Node, rows []row) {
	literals := map[string]*ast.CompositeLit{}
	var table *ast.CompositeLit
	for _, f := range r.files {
		if f.dir != dir || f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if lit := returned(d, name); lit != nil {
				table = lit
			}
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || len(v.Names) != len(v.Values) {
					continue
				}
				for i, id := range v.Names {
					value := v.Values[i]
					if u, ok := value.(*ast.UnaryExpr); ok {
						value = u.X
					}
					if lit, ok := value.(*ast.CompositeLit); ok {
						literals[id.Name] = lit
						if id.Name == name {
							table = lit
						}
					}
				}
			}
		}
	}
	if table == nil {
		return nil, nil
	}
	for _, e := range table.Elts {
		if u, ok := e.(*ast.UnaryExpr); ok {
			e = u.X
		}
		lit, ok := e.(*ast.CompositeLit)
		if id, isName := e.(*ast.Ident); isName {
			lit, ok = literals[id.Name], literals[id.Name] != nil
		}
		if ok {
			rows = append(rows, readRow(lit, e))
		}
	}
	return table, rows
}

// returned returns the literal that a method of this name returns, nil if the declaration is another one or does
// more.
func returned(d ast.Decl, name string) *ast.CompositeLit {
	fn, ok := d.(*ast.FuncDecl)
	if !ok || fn.Recv == nil || fn.Name.Name != name || len(fn.Body.List) != 1 {
		return nil
	}
	r, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return nil
	}
	lit, _ := r.Results[0].(*ast.CompositeLit)
	return lit
}

// readRow reads the fields that the rules use.
func readRow(lit *ast.CompositeLit, at ast.Expr) row {
	out := row{node: at}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch value := kv.Value.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(value.Value)
			switch {
			case isNamed(kv.Key, "Name"):
				out.name = text
			case isNamed(kv.Key, "Doc"):
				out.doc = text
			}
		case *ast.Ident:
			out.refused = out.refused || strings.HasPrefix(value.Name, "notImplemented") || strings.HasPrefix(value.Name, "notSupported")
		}
	}
	return out
}

// checkTables checks that every table is in alphabetical order, without duplicates, and that every row except refused
// ones has the field Doc.
func checkTables(r *repo, report reporter) {
	for _, t := range tables {
		_, rows := r.tableRows(t.dir, t.name)
		last := ""
		for _, row := range rows {
			if row.name == "" {
				continue
			}
			where := r.position(row.node.Pos())
			switch {
			case row.name == last:
				report(where, row.name+" stands twice in "+t.name)
			case row.name < last:
				report(where, row.name+" stands after "+last+" in "+t.name)
			}
			if row.doc == "" && !row.refused {
				report(where, row.name+" has no Doc: the page of the manual it follows")
			}
			last = row.name
		}
	}
}

// checkTested reports implemented rows of tables that no case file names.
func checkTested(r *repo, report reporter) {
	for _, t := range tables {
		_, rows := r.tableRows(t.dir, t.name)
		if len(rows) == 0 {
			continue
		}
		cases := path.Join(t.dir, "testdata")
		text := r.allText(cases)
		if under(t.dir, "wire/command") {
			cases += " or compat-tests"
			text += r.allText("compat-tests")
		}
		for _, row := range rows {
			if row.name != "" && !row.refused && !mentions(text, row.name) {
				report(r.position(row.node.Pos()), row.name+" appears in no case file under "+cases)
			}
		}
	}
}

// checkCaseFiles checks that every implemented row of a table with cases beside the code has a case file of its own.
// In the file's name an underscore may stand between words.
func checkCaseFiles(r *repo, report reporter) {
	for _, t := range tables {
		_, rows := r.tableRows(t.dir, t.name)
		if len(rows) == 0 || t.cases == "" {
			continue
		}
		have := map[string]bool{}
		paths, _ := fs.Glob(r.fsys, path.Join(t.dir, t.cases)) // the pattern is ours
		for _, p := range paths {
			have[strings.ReplaceAll(path.Base(p), "_", "")] = true
		}
		for _, row := range rows {
			if row.name == "" || row.refused {
				continue
			}
			want := strings.Replace(t.cases, "*", strings.ToLower(strings.TrimPrefix(row.name, "$")), 1)
			if !have[strings.ReplaceAll(path.Base(want), "_", "")] {
				report(r.position(row.node.Pos()), row.name+" has no "+path.Join(t.dir, want))
			}
		}
	}
}

// allText returns everything in the case files and scripts under dir.
func (r *repo) allText(dir string) string {
	var b strings.Builder
	_ = fs.WalkDir(r.fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if slices.Contains([]string{".txt", ".js", ".go"}, path.Ext(name)) {
			text, _ := fs.ReadFile(r.fsys, name)
			b.Write(text)
			b.WriteByte('\n')
		}
		return nil
	})
	return b.String()
}

// mentions reports whether text has name as a whole word.
func mentions(text, name string) bool {
	for rest := text; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		after := rest[i+len(name):]
		before := byte(' ')
		if i > 0 {
			before = rest[i-1]
		}
		if (after == "" || !isLetter(after[0])) && !isLetter(before) {
			return true
		}
		rest = after
	}
}

// isLetter reports whether b can be part of a name.
func isLetter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// Generated files match their sources.
func TestGenerated(t *testing.T) {
	for _, command := range [][]string{
		{"run", "./scripts/gencodes", "-check"},
	} {
		cmd := exec.Command("go", command...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
}
