package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opExists = Operator{Name: "$exists", Where: Field, Parse: parseExists, Doc: "reference/operator/query/exists"}

// parseExists reads {$exists: x}, with any value x. An x that is true as a condition (such as 1) requires that the
// field exists, any other that it does not.
func parseExists(_ *parser, a operand) (Node, error) {
	n := newWholeLeaf(a.path, exists{})
	if a.value.Truthy() {
		return n, nil
	}
	return &Not{a.path, n}, nil
}

// exists matches any value, null included, but not a missing one.
type exists struct{}

func (exists) name() string { return "$exists" }

func (exists) reasons() (no, yes string) {
	return "path does not exist", "path does exist"
}

func (exists) sameForEqual() bool { return false }

func (exists) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	return !v.IsMissing(), nil
}

func (exists) append(b *bson.Builder) { b.Bool("$exists", true) }

func (exists) shape(dst []byte) []byte { return append(dst, "$exists"...) }

// bounds adds all index keys, because a null key can represent a null, which exists, or a missing value.
func (exists) bounds(add func(Interval)) (exact bool) {
	add(AllValues())
	return false
}

// proofs implements prover.
func (exists) proofs(_ bool, add func(Interval)) {
	add(Interval{bson.MinKey, bson.Null, true, false})
	add(Interval{bson.Null, bson.MaxKey, false, true})
}
