package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// namingWords are the names of command arguments that name a namespace, a database, a user or a role, or that contain
// such arguments. The privileges that a command needs depend on them.
var namingWords = []string{"coll", "collection", "collections", "db", "dbName", "database", "dbs", "from", "into", "namespace", "namespaces", "ns",
	"nsInfo", "nss", "out", "ops", "pipeline", "pipelines", "privileges", "role", "roles", "source", "target", "to", "toCollection", "toDb",
	"user", "users", "viewOn"}

// namingAllowed lists arguments with a name of namingWords that rows without Parse may read, each with the reason why
// the Action of the row suffices. The key is "command.argument".
var namingAllowed = map[string]string{
	"authenticate.user":             "before a login nobody has privileges",
	"checkMetadataConsistency.coll": "the word is of the reply",
	"clearJumboFlag.to":             "a partition",
	"configureFailPoint.namespace":  "the Action is on the cluster",
	"createIndexes.ns":              "left aside, as in older drivers' index specifications",
	"dbHash.collections":            "collections of the database on which the Action is",
	"getMore.collection":            "that of the cursor, which must be the user's own",
	"killAllSessions.db":            "the Action is on the cluster",
	"killAllSessions.user":          "the Action is on the cluster",
	"mergeChunks.to":                "a partition",
	"moveChunk.to":                  "a partition",
	"moveRange.to":                  "a partition",
	"setQuerySettings.coll":         "the Action is on the cluster",
	"setQuerySettings.db":           "the Action is on the cluster",
	"setQuerySettings.ns":           "the Action is on the cluster",
	"split.to":                      "a partition",
}

// checkAuthorized reports arguments that name a namespace, user or role, and are read by the function of a command
// whose row has no Parse, or by the parser of a stage whose row is not made by reading: the privileges would then not
// be computed from the parsed arguments. It follows calls within the folder.
func checkAuthorized(r *repo, report reporter) {
	looked := func(dir string) bool { return under(dir, "wire/command") || under(dir, "collection/agg") }
	functions := map[string]map[string]*ast.FuncDecl{} // by folder and name
	for _, f := range r.files {
		if f.test || !looked(f.dir) {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				if functions[f.dir] == nil {
					functions[f.dir] = map[string]*ast.FuncDecl{}
				}
				functions[f.dir][fn.Name.Name] = fn
			}
		}
	}
	used := map[string]bool{}
	for _, f := range r.files {
		if f.test || !looked(f.dir) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			names, run := commandRow(row)
			if stage := f.dir == "collection/agg"; len(names) == 0 || run == "" || stage != hasKey(row, "Parse") {
				return true
			}
			for _, word := range readWords(functions[f.dir], run) {
				key := names[0] + "." + word
				if used[key] = true; namingAllowed[key] == "" {
					report(r.position(row.Pos()), names[0]+" reads the argument "+word+" by itself; namingAllowed may say why that is no way around")
				}
			}
			return true
		})
	}
	for key := range namingAllowed {
		if len(functions) > 5 && !used[key] {
			report("scripts/tidy/authorized_test.go", "no row without Parse reads "+key+" any more")
		}
	}
}

// hasKey reports whether a composite literal of Go sets the field of a name.
func hasKey(lit *ast.CompositeLit, name string) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		return ok && isNamed(kv.Key, name)
	})
}

// readWords returns the naming words that a function, and the functions of its folder that it calls, compare with,
// look up or have as rows of arguments.
func readWords(functions map[string]*ast.FuncDecl, name string) (words []string) {
	seen := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		fn := functions[name]
		if fn == nil || seen[name] {
			return
		}
		seen[name] = true
		note := func(list ...ast.Expr) {
			for _, w := range literals(list...) {
				if slices.Contains(namingWords, w) && !slices.Contains(words, w) {
					words = append(words, w)
				}
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CaseClause:
				note(n.List...)
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					note(n.X, n.Y)
				}
			case *ast.CallExpr:
				switch called := lastName(n.Fun); called {
				case "Get", "Lookup", "Has", "Docs":
					note(n.Args...)
				case "ReadArgs", "ReadFields":
					for _, row := range n.Args {
						ast.Inspect(row, func(n ast.Node) bool {
							if call, ok := n.(*ast.CallExpr); ok {
								note(call.Args...)
							}
							return true
						})
					}
				default:
					if sel, ok := n.Fun.(*ast.SelectorExpr); !ok || slices.Contains([]string{"a", "p", "r", "s"}, lastName(sel.X)) { // of the room, not of the chain
						walk(called)
					}
				}
			}
			return true
		})
	}
	walk(name)
	slices.SortFunc(words, strings.Compare)
	return words
}
