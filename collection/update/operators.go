package update

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// Operator is a row of the table of update operators.
type Operator struct {
	// Name with the dollar sign.
	Name string
	// parse parses the argument for one path and returns the action. A nil action without error means
	// that parse has added nodes to the tree itself ($rename).
	parse func(p *parser, at *fieldPath, arg bson.Value) (action, error)
	// Since is the first release of MongoDB with the operator, such as "8.2"; "" if it is older than 3.6
	// or not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// Operators is the table of update operators.
// Manual: reference/operator/update.
var Operators = []Operator{
	opAddToSet,
	opBit,
	opCurrentDate,
	opInc,
	opMax,
	opMin,
	opMul,
	opPop,
	opPull,
	opPullAll,
	opPush,
	opRename,
	opSet,
	opSetOnInsert,
	opUnset,
}

// find returns the row of an operator, nil if there is none.
func find(list []Operator, name string) *Operator {
	i, ok := slices.BinarySearchFunc(list, name, func(o Operator, n string) int { return strings.Compare(o.Name, n) })
	if !ok {
		return nil
	}
	return &list[i]
}

// action is the effect of an operator at the end of a path. Immutable.
type action interface {
	// apply returns the new value for an old one, which is missing if the field does not exist. The new
	// value may alias the old one, a's arena or the action.
	apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error)
	// traits returns the action's behaviour for missing paths.
	traits() traits
}

// conditional is an action that may have no effect, depending on the document.
type conditional interface {
	action
	// idle reports whether the action has no effect, so that its path need not be viable.
	idle(a *applier) bool
}

// outcome is the effect on the old value.
type outcome uint8

const (
	keep   outcome = iota // unchanged, or still missing
	set                   // replaced or created
	remove                // removed; null in an array
)

// traits are properties of an action.
type traits uint8

const (
	// creates: the action creates a missing path.
	creates traits = 1 << iota
	// tolerant: the action has no effect if the path is not viable.
	tolerant
	// onInsert: the action has no effect unless a document is inserted.
	onInsert
)
