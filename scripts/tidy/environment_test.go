package tidy

import (
	"go/ast"
	"strings"
)

// clientProgram is a program that a test suite runs as a user would. It may read environment variables, which the
// suite sets.
const clientProgram = "compat-tests/clients/drivers/godriver"

// checkEnvironment reports code of tests that reads a variable CANTLE_… itself, and not by internal/testenv.
func checkEnvironment(r *repo, report reporter) {
	for _, f := range r.files {
		if !f.test && !isRig(f.dir) || under(f.dir, "internal/testenv", clientProgram) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if name := typeText(call.Fun); name != "os.Getenv" && name != "os.LookupEnv" {
				return true
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"CANTLE_`) {
				report(r.position(call.Pos()), lit.Value+" is read here, and not by internal/testenv")
			}
			return true
		})
	}
}
