package expr

import (
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	gojaparser "github.com/dop251/goja/parser"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// The library's parser reads the parameters of an arrow function twice, those of arrow functions in
// them four times and so on, calls itself as deep as a text nests, and cannot be stopped. Another
// parser, whose work grows with the text alone and which bounds what nests, reads a text before it.
const (
	// arrowsMax is how deep arrow functions may stand in the parameters of others.
	arrowsMax = 3
	// briefBytes is how long a text may be that only the library reads, as it knows more of the
	// language's past: what takes long of that is no longer either.
	briefBytes = 4 << 10
)

// parseScript parses a text. Maps of its source, which it can name, are not read.
// Errors: JSInterpreterFailure for what nests too deep, those of the library for a syntax error.
func parseScript(text string) (*ast.Program, error) {
	tree, err := js.Parse(parse.NewInputString(text), js.Options{})
	switch {
	case err == nil:
		v := &arrows{}
		if js.Walk(v, tree); v.deep {
			return nil, tooComplex("has arrow functions in the parameters of arrow functions more than %d levels deep", arrowsMax)
		}
	case strings.Contains(err.Error(), "too many nested"):
		return nil, tooComplex("nests too deep, or has too long a chain of operators: %d are allowed", complexDepthMax)
	case len(text) > briefBytes || strings.Count(text, "=>") > arrowsMax:
		return nil, fmt.Errorf("JavaScript code of more than %d bytes or %d arrow functions must be plain: %w", briefBytes, arrowsMax, err)
	}
	return gojaparser.ParseFile(nil, "", text, 0, gojaparser.WithDisableSourceMaps)
}

// arrows looks for arrow functions in the parameters of others.
type arrows struct {
	depth int // of the parameters that the visitor is in
	deep  bool
}

// Enter visits the parameters of an arrow function a level deeper than the rest.
func (v *arrows) Enter(n js.INode) js.IVisitor {
	f, ok := n.(*js.ArrowFunc)
	if v.deep || !ok {
		if v.deep {
			return nil
		}
		return v
	}
	inside := &arrows{depth: v.depth + 1}
	if inside.deep = inside.depth > arrowsMax; !inside.deep {
		js.Walk(inside, &f.Params)
	}
	js.Walk(v, &f.Body)
	v.deep = v.deep || inside.deep
	return nil
}

// Exit is called after a node was visited.
func (v *arrows) Exit(js.INode) {}
