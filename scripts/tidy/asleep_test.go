package tidy

import "go/ast"

// polls lists the test files that may poll until a condition holds, each with the reason why they cannot wait for an
// event.
var polls = map[string]string{
	"scripts/testall/command_test.go": "only its parent is told when a process ends",
	"shard/jobs/main_test.go":         "nobody is told when a goroutine has ended",
	"wire/server/server_test.go":      "real sockets cannot be in a bubble of synctest",
}

// checkAsleep reports tests that sleep. A file that uses testing/synctest may sleep, because its time is virtual, and
// so may compat-tests, which watch a whole server from outside.
func checkAsleep(r *repo, report reporter) {
	for _, f := range r.files {
		if !f.test || under(f.dir, "compat-tests") {
			continue
		}
		_, virtual := f.imports()["testing/synctest"]
		sleeps := false
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok || typeText(x) != "time.Sleep" {
				return true
			}
			sleeps = true
			if polls[f.path] == "" && !virtual {
				report(r.position(x.Pos()), "time.Sleep in a test")
			}
			return true
		})
		if polls[f.path] != "" && !sleeps {
			report("scripts/tidy/asleep_test.go", f.path+" sleeps no more; take its row out")
		}
	}
}
