package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
)

// Maximum sizes, in lines, of code that is read in one sitting.
const (
	fileMax     = 600
	packageMax  = 6000
	functionMax = 80
)

// languages are the packages without a limit: they grow by a file per operator.
var languages = []string{"collection/agg", "collection/expr"}

// sizes lists the packages, and the functions in them or below, that may be larger, with their limit and the
// reason. The table shrinks: an unnecessary row is a violation.
var sizes = []struct {
	dir      string
	function string // function is "" for the package itself
	limit    int
	why      string
}{}

// checkSizes reports files, functions and packages that are too long. Generated code is not counted, and of tests
// only the files.
func checkSizes(r *repo, report reporter) {
	lines, needed := map[string]int{}, map[int]bool{}
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
		lines[f.dir] += n
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !isTable(fn) {
				n := r.set.Position(fn.End()).Line - r.set.Position(fn.Pos()).Line + 1
				if n > sizeLimit(f.dir, fn.Name.Name, needed, n, functionMax) {
					report(r.position(fn.Pos()), fmt.Sprintf("%s has %d lines, %d are enough: what are its steps?", fn.Name.Name, n, functionMax))
				}
			}
		}
	}
	for _, dir := range r.packages() {
		if slices.Contains(languages, dir) {
			continue
		}
		if n := lines[dir]; n > sizeLimit(dir, "", needed, n, packageMax) {
			report(dir, fmt.Sprintf("%d lines, %d are enough: what are its parts?", n, packageMax))
		}
	}
	for i, row := range sizes {
		if lines[row.dir] > 0 && !needed[i] {
			report("scripts/tidy/sizes_test.go", "the row "+row.dir+" "+row.function+" is not needed any more")
		}
	}
}

// sizeLimit returns the maximum number of lines of a function, or a package. If n lines need a row that allows
// more than usual, it marks the row as needed.
func sizeLimit(dir, function string, needed map[int]bool, n, usual int) int {
	for i, row := range sizes {
		if row.function == function && (row.dir == dir || function != "" && under(dir, row.dir)) && n > usual {
			needed[i] = true
			return row.limit
		}
	}
	return usual
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
