package expr

import (
	"math/big"
	"reflect"
	"regexp/syntax"
	"strings"

	"github.com/cantledb/cantle/collection/mongoerr"

	"github.com/dop251/goja/ast"
	gojaparser "github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
)

// The JavaScript library examines everything below an operator at each level of a chain (it folds constants),
// several times below || of constants, and expands repetitions in regular expressions. These bounds of a source limit
// the time that it takes to compile.
const (
	// complexDepthMax is the maximal depth of a syntax tree. A chain of operators is as deep as it is long.
	complexDepthMax = 1000
	// complexWorkMax is the maximal sum of the depths of all nodes.
	complexWorkMax = 2 << 20
	// patternMax is the maximal number of characters and repetitions in the expanded regular expressions
	// of a source.
	patternMax = 50_000
)

// nodeBytes is the approximate memory of a compiled node.
const nodeBytes = 100

// complexity returns the approximate memory of a script once it is compiled, in bytes, or an error if compiling
// it would take long.
// Errors: JSInterpreterFailure for a tree that would take long to compile.
func complexity(tree *ast.Program) (bytes int, err error) {
	var c measurement
	if c.children(reflect.ValueOf(tree).Elem(), 0); c.err != nil {
		return 0, c.err
	}
	return c.nodes*nodeBytes + c.patterns*nodeBytes, nil
}

// measurement holds the counts of a syntax tree so far: nodes, the library's work, and the size of regular
// expressions.
type measurement struct {
	nodes, work, patterns int
	err                   error
}

// tooComplex returns the error for a source that would take long to compile.
func tooComplex(what string, args ...any) error {
	return mongoerr.New(mongoerr.JSInterpreterFailure, "JavaScript code "+what, args...)
}

func (c *measurement) add(work int) {
	if c.work += min(work, complexWorkMax); c.work > complexWorkMax && c.err == nil {
		c.err = tooComplex("is too complex; make its expressions shorter, nest less, or split it into several functions")
	}
}

// folded describes what constant folding by the JavaScript library makes of an expression.
type folded struct {
	known bool // known reports that the expression is folded
	truth int  // truth is 1 for a value that is true in JavaScript, -1 for one that is false, 0 if it may be either
	work  int  // work is the number of nodes that the library examines to fold it
}

// foldedLiteral returns the result for a constant in the source.
func foldedLiteral(truth bool) folded {
	if truth {
		return folded{true, 1, 1}
	}
	return folded{true, -1, 1}
}

// node measures a node and the nodes below it.
func (c *measurement) node(n ast.Node, depth int) folded {
	if depth > complexDepthMax && c.err == nil {
		c.err = tooComplex("nests too deep, or has too long a chain of operators: %d are allowed", complexDepthMax)
	}
	c.nodes++
	if c.add(depth); c.err != nil {
		return folded{}
	}
	switch n := n.(type) {
	case *ast.NumberLiteral:
		if _, big := n.Value.(*big.Int); big && c.err == nil {
			c.err = tooComplex("must not use big integers, as %.40s: their arithmetic has no bound; use NumberLong or NumberDecimal", n.Literal)
		}
		return foldedLiteral(n.Value != int64(0) && n.Value != float64(0))
	case *ast.StringLiteral:
		return foldedLiteral(n.Value != "")
	case *ast.BooleanLiteral:
		return foldedLiteral(n.Value)
	case *ast.NullLiteral:
		return foldedLiteral(false)
	case *ast.RegExpLiteral:
		c.pattern(n.Pattern, n.Flags)
		return folded{}
	case *ast.TemplateLiteral:
		c.children(reflect.ValueOf(n).Elem(), depth)
		return folded{known: len(n.Expressions) == 0 && n.Tag == nil, work: 1}
	case *ast.UnaryExpression:
		v := c.node(n.Operand, depth+1)
		return folded{known: v.known, work: v.work + 1}
	case *ast.BinaryExpression:
		return c.binary(n, depth)
	}
	c.children(reflect.ValueOf(n).Elem(), depth)
	return folded{}
}

// binary measures an expression with two operands. If the left operand of &&, || or ?? is folded, the library folds
// it again at each level above.
func (c *measurement) binary(n *ast.BinaryExpression, depth int) folded {
	left, right := c.node(n.Left, depth+1), c.node(n.Right, depth+1)
	ends := 0 // truth value of the left operand that ends the evaluation
	switch n.Operator {
	case token.LOGICAL_AND:
		ends = -1
	case token.LOGICAL_OR:
		ends = 1
	case token.COALESCE:
	default:
		return folded{known: left.known && right.known, work: left.work + right.work + 1}
	}
	if !left.known || !right.known && ends != 0 && left.truth == -ends {
		return folded{}
	}
	work := min(4*left.work+2*right.work, complexWorkMax)
	c.add(work)
	return folded{known: true, work: work}
}

// children measures the nodes in the fields of a struct.
func (c *measurement) children(v reflect.Value, depth int) {
	for i := range v.NumField() {
		// The nodes of DeclarationList also occur elsewhere.
		if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" {
			c.value(v.Field(i), depth)
		}
	}
}

func (c *measurement) value(v reflect.Value, depth int) {
	if c.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(ast.Node); ok {
			if v = reflect.ValueOf(n); v.Kind() == reflect.Pointer && !v.IsNil() {
				c.node(n, depth+1)
			}
			return
		}
		if v = v.Elem(); v.Kind() == reflect.Struct && strings.HasSuffix(v.Type().PkgPath(), "/ast") {
			c.children(v, depth+1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.value(v.Index(i), depth)
		}
	case reflect.Struct:
		if strings.HasSuffix(v.Type().PkgPath(), "/ast") {
			c.children(v, depth+1)
		}
	}
}

// pattern adds the size of a regular expression to the measurement.
func (c *measurement) pattern(pattern, flags string) {
	// A pattern that fails here fails again during compilation, with a better message.
	text, err := gojaparser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		c.patterns += len(pattern)
	} else if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		c.patterns += writtenOut(tree)
	} else {
		c.err = tooComplex("has a regular expression that is not allowed: %.200s", err)
		return
	}
	if c.patterns > patternMax {
		c.err = tooComplex("has too large regular expressions: repeat less in them")
	}
}

// writtenOut returns the number of characters and repetitions of a regular expression with its repetitions
// expanded, at most patternMax + 1.
func writtenOut(r *syntax.Regexp) int {
	n := 1 + len(r.Rune)
	for _, sub := range r.Sub {
		n += writtenOut(sub)
	}
	if r.Op == syntax.OpRepeat {
		n *= max(1, r.Min, r.Max)
	}
	return min(n, patternMax+1)
}
