package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
)

// Maximum sizes, in lines, of a Go file and of a function, so that each can be read in one sitting.
const (
	fileMax     = 600
	functionMax = 80
)

// checkSizes reports files and functions that are too long. Generated code is not counted; of tests only the length
// of the file counts.
func checkSizes(r *repo, report reporter) {
	for _, f := range r.files {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		n := bytes.Count(f.source, []byte("\n"))
		if n > fileMax {
			report(f.path, fmt.Sprintf("%d lines, %d are enough", n, fileMax))
		}
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !isTable(fn) {
				n := r.set.Position(fn.End()).Line - r.set.Position(fn.Pos()).Line + 1
				if n > functionMax {
					report(r.position(fn.Pos()), fmt.Sprintf("%s has %d lines, %d are enough: what are its steps?", fn.Name.Name, n, functionMax))
				}
			}
		}
	}
}

// isTable reports whether a function only returns a literal.
func isTable(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) != 1 {
		return false
	}
	ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	_, ok = ret.Results[0].(*ast.CompositeLit)
	return ok
}
