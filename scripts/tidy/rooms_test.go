package tidy

import (
	"go/ast"
	"path"
)

// checkRooms reports packages under wire/command with a table of commands that are not registered everywhere: in
// wire/rooms twice, by the call of New that makes the room for a server and by the State in the list of all rows, and
// among the tables that other tidy rules check.
func checkRooms(r *repo, report reporter) {
	used := map[string]bool{} // such as data.New
	for _, f := range r.files {
		if f.dir != "wire/rooms" || f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				used[lastName(x.X)+"."+x.Sel.Name] = true
			}
			return true
		})
	}
	listed := map[string]bool{}
	for _, t := range tables {
		listed[t.dir] = true
	}
	for _, f := range r.product() {
		if path.Dir(f.dir) != "wire/command" || path.Base(f.path) != "table.go" {
			continue
		}
		room := path.Base(f.dir)
		for _, name := range []string{room + ".New", room + ".State"} {
			if !used[name] {
				report(f.path, "wire/rooms does not use "+name)
			}
		}
		if !listed[f.dir] {
			report(f.path, f.dir+" is not among the tables of scripts/tidy")
		}
	}
}
