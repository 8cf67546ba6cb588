package tidy

import (
	"go/ast"
	"go/token"
	"strconv"
)

// commandWords lists, by path, the files that may name commands of other files, each with the reason: the words have
// another meaning there, or are necessary.
var commandWords = map[string]string{
	"wire/command/access/sasl.go":            "speculativeAuthenticate has one of two commands as its value",
	"wire/command/data/applyops_command.go":  "entries of the change log have words of their own for what commands did",
	"wire/command/data/bulkwrite.go":         "the operations of a bulkWrite are insert, update and delete",
	"wire/command/shards/keydistribution.go": "the fields of the reply, in the order of the manual",
	"wire/command/shards/zones.go":           "actions of roles have names of commands",
	"wire/query.go":                          "OP_QUERY is read before anybody knows commands, and serves none but these",
}

// checkCommands reports code in the folder wire that distinguishes commands by name: it compares with a name, looks
// one up, or lists several. Only the file with the function that runs the command may do so; all other code uses a
// field of the command's row.
func checkCommands(r *repo, report reporter) {
	homes := r.commandHomes()
	for _, f := range r.files {
		if f.test || !under(f.dir, "wire") || commandWords[f.path] != "" {
			continue
		}
		s := commandSearch{own: f.path, homes: homes, known: map[string]bool{}}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			for _, name := range s.names(n) {
				report(r.position(n.Pos()), "knows the command "+name+" by its name")
			}
			return true
		})
	}
}

// commandHomes returns every name and alias of a command in the tables, with the file of the function that runs the
// command; "" if that is not found.
func (r *repo) commandHomes() map[string]string {
	functions := map[string]string{} // by folder and name
	for _, f := range r.files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[f.dir+"."+fn.Name.Name] = f.path
			}
		}
	}
	homes := map[string]string{}
	for _, f := range r.files {
		if f.test || !under(f.dir, "wire") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			table, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if list, ok := table.Type.(*ast.ArrayType); !ok || lastName(list.Elt) != "Def" {
				return true
			}
			for _, e := range table.Elts {
				if row, ok := e.(*ast.CompositeLit); ok {
					names, run := commandRow(row)
					for _, name := range names {
						homes[name] = functions[f.dir+"."+run]
					}
				}
			}
			return true
		})
	}
	return homes
}

// commandRow returns the names in a row of a table of commands, and the name of the function that runs the command or
// parses its arguments.
func commandRow(row *ast.CompositeLit) (names []string, run string) {
	for _, e := range row.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch {
		case isNamed(kv.Key, "Name"):
			names = append(names, literals(kv.Value)...)
		case isNamed(kv.Key, "Aliases"):
			if list, ok := kv.Value.(*ast.CompositeLit); ok {
				names = append(names, literals(list.Elts...)...)
			}
		case isNamed(kv.Key, "Run"), isNamed(kv.Key, "Parse"):
			run = lastName(kv.Value)
		}
	}
	return names, run
}

// commandSearch is the search in one file.
type commandSearch struct {
	own   string            // the path of the file
	homes map[string]string // commandHomes
	known map[string]bool   // variables that hold the name of a command
}

// names returns the commands whose names a node uses.
func (s *commandSearch) names(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		s.known = map[string]bool{"command": true}
	case *ast.AssignStmt:
		for i, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && s.isName(n.Rhs[i]) {
				s.known[id.Name] = true
			}
		}
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			if s.isName(n.X) {
				return s.foreign(literals(n.Y))
			}
			if s.isName(n.Y) {
				return s.foreign(literals(n.X))
			}
		}
	case *ast.SwitchStmt:
		var words []string
		for _, c := range n.Body.List {
			words = append(words, literals(c.(*ast.CaseClause).List...)...)
		}
		if n.Tag != nil && s.isName(n.Tag) || s.onlyCommands(words) {
			return s.foreign(words)
		}
	case *ast.CompositeLit:
		var words []string
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Key
			}
			words = append(words, literals(e)...)
		}
		if len(words) == len(n.Elts) && s.onlyCommands(words) && lastName(n.Type) != "Def" {
			return s.foreign(words)
		}
	case *ast.CallExpr:
		if lastName(n.Fun) == "Lookup" && len(n.Args) == 1 {
			return s.foreign(literals(n.Args...))
		}
	}
	return nil
}

// isName reports whether an expression of Go is the name of a command: c.Name(), d.Name of a row, the first field of
// a command's document, or a variable that holds one of them.
func (s *commandSearch) isName(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return s.known[x.Name]
	case *ast.SelectorExpr:
		if x.Sel.Name == "Name" {
			switch lastName(x.X) {
			case "Def", "def", "d", "op", "first":
				return true
			}
		}
	case *ast.CallExpr:
		switch lastName(x.Fun) {
		case "Name":
			return len(x.Args) == 0
		case "string":
			return len(x.Args) == 1 && s.isName(x.Args[0])
		}
	}
	return false
}

// onlyCommands reports whether a list of words is a list of commands: it has two words or more, and all are names of
// commands. In a long list one word in eight may be another, such as a removed command.
func (s *commandSearch) onlyCommands(words []string) bool {
	others := 0
	for _, w := range words {
		if _, ok := s.homes[w]; !ok {
			others++
		}
	}
	return len(words) > 1 && others <= len(words)/8
}

// foreign returns the words that are names of commands which other files run.
func (s *commandSearch) foreign(words []string) (out []string) {
	for _, w := range words {
		if home, ok := s.homes[w]; ok && home != s.own {
			out = append(out, w)
		}
	}
	return out
}

// literals returns the texts of the string literals among expressions.
func literals(list ...ast.Expr) (out []string) {
	for _, x := range list {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, text)
			}
		}
	}
	return out
}

// lastName returns the last identifier of an expression such as a.b.Name, "" if the expression is not a name.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
