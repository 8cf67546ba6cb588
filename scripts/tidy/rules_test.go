package tidy

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// reporter receives one violation: its position, and a description.
type reporter func(where, what string)

// rule is one check over the whole repository.
type rule struct {
	name  string
	why   string // printed with every violation
	check func(r *repo, report reporter)
}

// rules, alphabetical.
var rules = []rule{
	{"asleep", "a test that sleeps fails on a busy machine and wastes time on an idle one; testing/synctest has virtual time and waits until all goroutines wait", checkAsleep},
	{"authorized", "the arguments that are authorized are the arguments that run: a command whose arguments name something is parsed once, by Parse, and its privileges come from the parsed arguments", checkAuthorized},
	{"buildtags", "what is released is what is tested: what a build tag changes stands in one list, where a reviewer sees it", checkBuildTags},
	{"casefiles", "the cases of an operator or a stage are found by its name, and missing cases are visible", checkCaseFiles},
	{"clock", "below wire, time comes from Env.Now or a parameter: tests run on a fake clock, and one command sees one time; only shard/jobs runs by the clock", checkClock},
	{"commands", "every property of a command is a field of its row (wire/command/def.go): a separate list of names is forgotten when a command is added", checkCommands},
	{"comments", "the comment of an exported declaration says what its name does not: shape, units, ownership, errors", checkComments},
	{"context", "context.TODO postpones a decision; take the context from the caller", checkContext},
	{"decoded", "documents stay raw BSON from the socket to the store; to decode one costs twenty to forty times as much as to read it in place", checkDecoded},
	{"described", "the first word of a comment is the name that it describes, so that a search for the name finds the comment", checkDescribed},
	{"environment", "one table has the purpose and the unit of every variable of the tests; CONTRIBUTING.md shows it", checkEnvironment},
	{"floors", "the folders have floors: bson, ratelimit and storage, then collection, shard, wire, serve and cmd, and on top what other programs import; a package imports only its own floor and those below", checkFloors},
	{"format", "every file is formatted by gofmt", checkFormat},
	{"globals", "package-level state is shared by everything in the process: tests disturb each other, and two servers in one process cannot differ", checkGlobals},
	{"init", "code that runs at import cannot be ordered, configured or tested; tables are literals", checkInit},
	{"libraries", "only few packages import a library, so that it can be exchanged or upgraded in one place", checkLibraries},
	{"named", "a reader searches in vain for a name in a comment that no declaration has any more", checkNamed},
	{"names", "a function without a package of its own belongs to its only caller; packages named util or common collect such functions", checkNames},
	{"output", "library code returns errors and counts; the program decides what is printed", checkOutput},
	{"plain", "comments use the field's words: the subject of a sentence is a noun, its verb technical, and code does not tell or know (CONTRIBUTING.md has more)", checkPlain},
	{"rig", "the product must build without its test rig", checkRig},
	{"rooms", "a package of commands that wire/rooms does not list is missing from the server, or from the lists that are printed", checkRooms},
	{"separations", "some packages must not import each other although their floors allow it (scripts/tidy/floors_test.go has the reasons)", checkSeparations},
	{"sizes", "a file and a function are short enough to be read at once", checkSizes},
	{"stages", "every property of a stage is a field of its row (collection/agg/stagedef.go): a separate list of names is forgotten when a stage is added", checkStages},
	{"tables", "tables list what is covered: alphabetical, each row with the page of the manual that it follows", checkTables},
	{"tested", "each row of an operator has a case: name the operator in a case file of its package", checkTested},
	{"unused", "a package that no longer imports a library is taken out of its row, so that the table shows who uses the library", checkUnused},
}

// wholeRepo returns the repository, which is parsed once for all tests.
var wholeRepo = sync.OnceValues(func() (*repo, error) { return load(os.DirFS("../..")) })

func TestTidy(t *testing.T) {
	r, err := wholeRepo()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.files) < 10 {
		t.Fatalf("only %d Go files found: is this the repository?", len(r.files))
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			rule.check(r, func(where, what string) {
				t.Errorf("%s: %s\n\twhy: %s", where, what, rule.why)
			})
		})
	}
}

// checkSeparations reports imports within the repository that the table of separations forbids.
func checkSeparations(r *repo, report reporter) {
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		for p, pos := range f.imports() {
			to, mine := ours(p)
			if !mine {
				continue
			}
			for _, s := range separations {
				// The packages of the folder from may import each other, even if the folder to contains them.
				if under(f.dir, s.from) && under(to, s.to) && !under(to, s.from) && to != s.but {
					report(r.position(pos), f.dir+" may not import "+to+": "+s.why)
				}
			}
		}
	}
}

// checkFloors compares every import of our own packages with the floors.
func checkFloors(r *repo, report reporter) {
	for _, f := range r.files {
		own := floorOf(f.dir)
		if f.test || own < 0 {
			continue
		}
		for p, pos := range f.imports() {
			to, mine := ours(p)
			if floor := floorOf(to); mine && (floor > own || floor == own && topOf(to) != topOf(f.dir)) {
				report(r.position(pos), f.dir+" may not import "+to+": it stands on no lower floor")
			}
		}
	}
}

// topOf returns the top-level folder of a package.
func topOf(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}

// floorOf returns the index in floors of the floor to which a package's top-level folder belongs, -1 for the rig.
func floorOf(dir string) int {
	return slices.IndexFunc(floors, func(row []string) bool { return slices.Contains(row, topOf(dir)) })
}

// checkLibraries compares every import of a library with the table.
func checkLibraries(r *repo, report reporter) {
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		for p, pos := range f.imports() {
			if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || strings.HasPrefix(p, modulePath) {
				continue
			}
			switch row := libraryRow(p); {
			case row < 0:
				report(r.position(pos), p+" has no row in scripts/tidy/library_users_test.go: add it with the packages that may use it and why")
			case libraryUsers[row].path == "go.mongodb.org/mongo-driver/v2" && f.dir != "bson" && f.dir != "bson/ejson", // not what lies below bson
				!under(f.dir, libraryUsers[row].users...):
				report(r.position(pos), f.dir+" may not use "+p+": "+libraryUsers[row].why)
			}
		}
	}
}

// checkRig reports imports of the test rig in the product.
func checkRig(r *repo, report reporter) {
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		for p, pos := range f.imports() {
			if to, ok := ours(p); ok && isRig(to) {
				report(r.position(pos), "imports "+to)
			}
		}
	}
}

// checkClock reports uses of the clock in the product, except in the folders wire and shard/jobs.
func checkClock(r *repo, report reporter) {
	for _, f := range r.product() {
		if under(f.dir, "wire", "shard/jobs") {
			continue
		}
		f.uses("time", []string{"Now", "Since", "Until"}, func(pos token.Pos, name string) {
			report(r.position(pos), "time."+name)
		})
	}
}

// checkContext reports context.TODO everywhere.
func checkContext(r *repo, report reporter) {
	for _, f := range r.files {
		f.uses("context", []string{"TODO"}, func(pos token.Pos, name string) {
			report(r.position(pos), "context.TODO")
		})
	}
}

// checkOutput reports printing in library code.
func checkOutput(r *repo, report reporter) {
	for _, f := range r.product() {
		f.uses("fmt", []string{"Print", "Printf", "Println"}, func(pos token.Pos, name string) {
			report(r.position(pos), "fmt."+name)
		})
		for _, p := range []string{"log", "log/slog"} {
			if pos, ok := f.imports()[p]; ok {
				report(r.position(pos), "imports "+p)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if x, ok := c.Fun.(*ast.Ident); ok && x.Obj == nil && (x.Name == "print" || x.Name == "println") {
					report(r.position(c.Pos()), "the predeclared "+x.Name)
				}
			}
			return true
		})
	}
}

// checkDecoded reports code of the server that uses Go maps (map[string]any) or the driver's types for documents.
// Tests and tools do that with bson/ejson.
func checkDecoded(r *repo, report reporter) {
	for _, f := range r.product() {
		if f.dir == "bson/ejson" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if m, ok := n.(*ast.MapType); ok && isNamed(m.Key, "string") && isAny(m.Value) {
				report(r.position(m.Pos()), "map[string]any")
			}
			return true
		})
		f.uses("go.mongodb.org/mongo-driver/v2/bson", []string{"A", "D", "E", "M"}, func(pos token.Pos, name string) {
			report(r.position(pos), "the driver's bson."+name)
		})
	}
}

// isNamed reports whether an expression is the plain name.
func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// isAny reports whether an expression is any or interface{}.
func isAny(x ast.Expr) bool {
	if i, ok := x.(*ast.InterfaceType); ok {
		return len(i.Methods.List) == 0
	}
	return isNamed(x, "any")
}

// namelessNames are package names without a meaning.
var namelessNames = []string{"base", "common", "core", "helper", "helpers", "lib", "misc", "shared", "types", "util", "utils"}

// checkNames checks the names of packages.
func checkNames(r *repo, report reporter) {
	for _, dir := range r.packages() {
		if slices.Contains(namelessNames, path.Base(dir)) {
			report(dir, "a package named "+path.Base(dir))
		}
	}
}

// checkFormat compares every file with the output of gofmt.
func checkFormat(r *repo, report reporter) {
	for _, f := range r.files {
		formatted, err := format.Source(f.source)
		if err != nil || !bytes.Equal(formatted, f.source) {
			report(f.path, "not formatted; run gofmt -w "+f.path)
		}
	}
}

// checkComments reports exported declarations without a comment, in the product and the rig. The methods of an
// interface are described at the interface: an implementation describes only differences, and may have no comment.
func checkComments(r *repo, report reporter) {
	contracts := r.interfaceMethods()
	for _, f := range r.files {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && contracts[d.Name.Name] {
					continue
				}
				if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
					report(r.position(d.Pos()), "func "+d.Name.Name+" has no comment")
				}
			case *ast.GenDecl:
				checkSpecComments(r, d, report)
			}
		}
	}
}

// interfaceMethods returns the names of all methods that need no comment in an implementation, because an interface
// of the repository, or a well-known one of the standard library, describes them.
func (r *repo) interfaceMethods() map[string]bool {
	out := map[string]bool{"Error": true, "Is": true, "Len": true, "Less": true, "Pop": true, "Push": true,
		"Read": true, "String": true, "Swap": true, "Unwrap": true, "Write": true}
	for _, f := range r.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			i, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, m := range i.Methods.List {
				for _, name := range m.Names {
					out[name.Name] = true
				}
			}
			return true
		})
	}
	return out
}

// exportedReceiver reports whether a declaration is a function, or a method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// checkSpecComments reports exported names without a comment in one const, var or type declaration. A comment above
// a group applies to all its names, and a comment at the end of a line counts.
func checkSpecComments(r *repo, d *ast.GenDecl, report reporter) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				report(r.position(s.Pos()), "type "+s.Name.Name+" has no comment")
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					report(r.position(name.Pos()), d.Tok.String()+" "+name.Name+" has no comment")
				}
			}
		}
	}
}
