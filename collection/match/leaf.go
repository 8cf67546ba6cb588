package match

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// predicate is what an operator asks of one value.
type predicate interface {
	// name is the operator's name as in the table ("$gt").
	name() string
	// holds answers for one value, missing where the path leads nowhere.
	holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error)
	// append appends the operator as {field: {…}} holds it.
	append(b *bson.Builder)
	// bounds is Pathed.Bounds.
	bounds(add func(Interval)) (exact bool)
	// shape appends the operator without its values.
	shape(dst []byte) []byte
	// reasons say why a value is not what the operator asks for, and why it is: see Explain.
	reasons() (no, yes string)
	// sameForEqual reports that the operator cannot tell values that compare equal apart,
	// nor null from missing: see SaysTheSame.
	sameForEqual() bool
}

// Leaf applies a predicate to the values of a path: it matches when one of
// them satisfies it. Arrays on the way are looked into; so is an array at the
// end, whose elements are asked before the array itself, unless whole is set.
// Manual: tutorial/query-arrays.
type Leaf struct {
	path  path.Path
	parts []path.Component
	pred  predicate
	// whole asks only the array itself ($exists, $size).
	whole bool
	// through asks for a missing value where the path ends inside an array without documents.
	through bool
}

// newLeaf makes a Leaf that looks into arrays at the end of the path.
func newLeaf(p path.Path, pred predicate) *Leaf {
	return &Leaf{path: p, parts: p.Components(), pred: pred, through: nullThrough(pred)}
}

// newWholeLeaf makes a Leaf that takes an array at the end as one value.
func newWholeLeaf(p path.Path, pred predicate) *Leaf {
	return &Leaf{path: p, parts: p.Components(), pred: pred, whole: true}
}

// Path is the path whose values are asked.
func (l *Leaf) Path() path.Path { return l.path }

// Operator is the name of the operator ("$gt").
func (l *Leaf) Operator() string { return l.pred.name() }

// WantsValue reports that the operator does not hold where the path leads nowhere.
func (l *Leaf) WantsValue() bool {
	ok, err := l.pred.holds(mql.NewEnv(context.Background()), bson.Value{}, &expr.Scratch{})
	return !ok && err == nil
}

// Children returns nil.
func (l *Leaf) Children() []Node { return nil }

// Bounds see Pathed. A position in the path reaches other values in an index
// than in a document, so bounds are not exact there. An operator that takes a missing
// value may find one in a document of an array, where the index has only the value at
// the position: its bounds are all keys. An operator that matches arrays as a whole may match
// an element that a position named, which is a key itself.
func (l *Leaf) Bounds(add func(Interval)) (exact bool) {
	if !l.path.HasPosition() {
		return l.pred.bounds(add)
	}
	if !l.WantsValue() {
		add(AllValues())
		return false
	}
	if !l.whole || !l.path.EndsAtPosition() {
		l.pred.bounds(add)
		return false
	}
	var list []Interval
	l.pred.bounds(func(i Interval) { list = append(list, i) })
	for _, i := range WithArrays(list) {
		add(i)
	}
	return false
}

// Append see Node.
func (l *Leaf) Append(b *bson.Builder) {
	b.BeginDoc(l.path.String())
	l.pred.append(b)
	b.End()
}

func (l *Leaf) appendOps(b *bson.Builder) { l.pred.append(b) }

func (l *Leaf) shape(dst []byte) []byte {
	return l.pred.shape(append(appendName(dst, l.path.String()), ' '))
}

// Matches see Node.
func (l *Leaf) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	return l.inDocument(env, doc, 0, s)
}

func (l *Leaf) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	return l.pred.holds(env, v, s)
}

// inDocument goes on with component i in a document.
func (l *Leaf) inDocument(env *mql.Env, doc bson.Raw, i int, s *expr.Scratch) (bool, error) {
	for ; ; i++ {
		v, _ := doc.Lookup(l.parts[i].Name)
		switch {
		case i == len(l.parts)-1:
			return l.value(env, v, s)
		case v.Type == bson.TypeDocument:
			doc = bson.Raw(v.Data)
		case v.Type == bson.TypeArray:
			return l.inArray(env, bson.Raw(v.Data), i+1, s)
		default:
			return l.pred.holds(env, bson.Value{}, s)
		}
	}
}

// inArray goes on with component i in the elements of an array: in each
// document, and in the element whose position the component names. Elements
// that cannot go on are not "missing": {"a.b": null} does not match {a: [1]}, unless
// through is set and none of them can.
func (l *Leaf) inArray(env *mql.Env, arr bson.Raw, i int, s *expr.Scratch) (bool, error) {
	n, through := int32(0), l.through
	for it := arr.Iter(); it.Next(); n++ {
		if err := env.Tick(); err != nil {
			return false, err
		}
		v := it.Value
		if v.Type == bson.TypeDocument {
			if ok, err := l.inDocument(env, bson.Raw(v.Data), i, s); ok || err != nil {
				return ok, err
			}
			through = false
		}
		if n != l.parts[i].Index {
			continue
		}
		through = false
		var ok bool
		var err error
		switch {
		case i == len(l.parts)-1:
			// An element named by position is one value, even if it is an array.
			ok, err = l.pred.holds(env, v, s)
		case v.Type == bson.TypeDocument:
			ok, err = l.inDocument(env, bson.Raw(v.Data), i+1, s)
		case v.Type == bson.TypeArray:
			ok, err = l.inArray(env, bson.Raw(v.Data), i+1, s)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	if through {
		return l.pred.holds(env, bson.Value{}, s)
	}
	return false, nil
}

// value asks the value at the end of the path.
func (l *Leaf) value(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	if v.Type == bson.TypeArray && !l.whole {
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			if err := env.Tick(); err != nil {
				return false, err
			}
			if ok, err := l.pred.holds(env, it.Value, s); ok || err != nil {
				return ok, err
			}
		}
	}
	return l.pred.holds(env, v, s)
}
