package expr

import (
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	gojaparser "github.com/dop251/goja/parser"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// Limits of parsing. The JavaScript library's parser reads the parameters of an arrow function twice, those of
// nested arrow functions four times and so on, recurses as deep as a text nests, and cannot be interrupted. So
// another parser reads a text first: its work grows only with the length of the text, and it limits the
// nesting.
const (
	// arrowsMax is the maximal depth of arrow functions within the parameters of other arrow functions.
	arrowsMax = 3
	// briefBytes is the maximal length in bytes of a text that only the library can parse, because it supports
	// more obsolete syntax. This bounds the time of the slowest such text.
	briefBytes = 4 << 10
)

// parseScript parses the text of a script. It does not load source maps to which the text refers.
// Errors: JSInterpreterFailure for code that nests too deep; the library's error for a syntax error.
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

// arrows is a visitor of a syntax tree that finds arrow functions nested too deep in the parameters of others.
type arrows struct {
	depth int // depth of the parameters being visited
	deep  bool
}

// Enter visits the parameters of an arrow function with a depth that is one higher than that of its body.
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
