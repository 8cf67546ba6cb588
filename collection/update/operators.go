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
	// parse reads the operator's argument for one path and returns its action. A nil action without error means that
	// parse has added nodes to the tree of the update itself ($rename).
	parse func(p *parser, at *fieldPath, arg bson.Value) (action, error)
	// Since is the first release of MongoDB that has the operator, such as "8.2"; "" if the operator is older than
	// 3.6 or not in the manual.
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

// find returns the row of the operator name in the sorted table list, nil if there is none.
func find(list []Operator, name string) *Operator {
	i, ok := slices.BinarySearchFunc(list, name, func(o Operator, n string) int { return strings.Compare(o.Name, n) })
	if !ok {
		return nil
	}
	return &list[i]
}

// action is the effect of an update operator at the end of a path: from an old value to a new one. Immutable.
type action interface {
	// apply returns the new value of a field for its old one, which is missing if the field does not exist. The new
	// value may alias the old one, the arena of a, or the action.
	apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error)
	// traits returns the action's behaviour for missing paths.
	traits() traits
}

// conditional is an action of an update operator that, depending on the document, may have no effect.
type conditional interface {
	action
	// idle reports whether the action has no effect on a's document, so that its path need not exist or be allowed
	// there.
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
	// tolerant marks an action that has no effect, instead of an error, if its path leads through a scalar.
	tolerant
	// onInsert: the action has no effect unless a document is inserted.
	onInsert
)
