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
	// parse reads the argument for one path and returns what to do there; a nil
	// action without error has put its own nodes into the tree ($rename).
	parse func(p *parser, at *fieldPath, arg bson.Value) (action, error)
	// Since is the first release of MongoDB that has it, such as "8.2"; "" if that is older
	// than 3.6 or the manual does not say.
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

// find looks an operator up, nil if there is none.
func find(list []Operator, name string) *Operator {
	i, ok := slices.BinarySearchFunc(list, name, func(o Operator, n string) int { return strings.Compare(o.Name, n) })
	if !ok {
		return nil
	}
	return &list[i]
}

// action is what an operator does at the end of a path. Immutable.
type action interface {
	// apply returns the new value for an old one, which is missing if there is
	// none. The new value may alias the old one, a's arena or the action.
	apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error)
	// traits says what the action does on paths that are not there.
	traits() traits
}

// conditional is an action that tells from the document whether it has anything to do.
type conditional interface {
	action
	// idle reports that it does nothing, so that its path need not be viable.
	idle(a *applier) bool
}

// outcome is what becomes of the old value.
type outcome uint8

const (
	keep   outcome = iota // as it was, or still missing
	set                   // replaced or created
	remove                // gone; null in an array
)

// traits are properties of an action.
type traits uint8

const (
	// creates: a missing path is created for it.
	creates traits = 1 << iota
	// tolerant: a path that is not viable makes it do nothing.
	tolerant
	// onInsert: it does nothing unless a document is being inserted.
	onInsert
)
