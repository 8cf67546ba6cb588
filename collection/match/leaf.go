package match

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// predicate is the condition of an operator on one value.
type predicate interface {
	// name is the operator's name as in the table ("$gt").
	name() string
	// holds reports whether one value satisfies the condition. v is missing if there is no value at the
	// path.
	holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error)
	// append appends the operator in the form of {field: {…}}.
	append(b *bson.Builder)
	// bounds implements Pathed.Bounds.
	bounds(add func(Interval)) (exact bool)
	// shape appends the operator without its values.
	shape(dst []byte) []byte
	// reasons are the texts for a value that does not satisfy the operator, and for one that does: see
	// Explain.
	reasons() (no, yes string)
	// sameForEqual reports whether the operator cannot distinguish values that compare equal, nor null
	// from missing: see EqualForEqualValues.
	sameForEqual() bool
}

// Leaf applies a predicate to the values of a path: it matches if one of them satisfies the predicate.
// Leaf looks into arrays on the path. Unless whole is set, it also looks into an array at the end, and
// tests the elements before the array itself.
// Manual: tutorial/query-arrays.
type Leaf struct {
	path  path.Path
	parts []path.Component
	pred  predicate
	// whole tests only the array itself ($exists, $size).
	whole bool
	// through tests a missing value if the path ends inside an array without documents.
	through bool
}

// newLeaf returns a Leaf that looks into arrays at the end of the path.
func newLeaf(p path.Path, pred predicate) *Leaf {
	return &Leaf{path: p, parts: p.Components(), pred: pred, through: nullThrough(pred)}
}

// newWholeLeaf returns a Leaf that treats an array at the end as one value.
func newWholeLeaf(p path.Path, pred predicate) *Leaf {
	return &Leaf{path: p, parts: p.Components(), pred: pred, whole: true}
}

// Path returns the path of the tested values.
func (l *Leaf) Path() path.Path { return l.path }

// Operator returns the name of the operator ("$gt").
func (l *Leaf) Operator() string { return l.pred.name() }

// RequiresValue reports whether the operator does not match a missing value.
func (l *Leaf) RequiresValue() bool {
	ok, err := l.pred.holds(mql.NewEnv(context.Background()), bson.Value{}, &expr.Scratch{})
	return !ok && err == nil
}

// Children returns nil.
func (l *Leaf) Children() []Node { return nil }

// Bounds implements Pathed. A position in the path reaches other values in an index than in a document,
// so the bounds are not exact then. If the operator matches a missing value, that may be a value in a
// document of an array, while the index has only the value at the position: the bounds are all keys. An
// operator that matches whole arrays may match an element selected by position, which has its own key.
func (l *Leaf) Bounds(add func(Interval)) (exact bool) {
	if !l.path.HasPosition() {
		return l.pred.bounds(add)
	}
	if !l.RequiresValue() {
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

// Append implements Node.
func (l *Leaf) Append(b *bson.Builder) {
	b.BeginDoc(l.path.String())
	l.pred.append(b)
	b.End()
}

func (l *Leaf) appendOps(b *bson.Builder) { l.pred.append(b) }

func (l *Leaf) shape(dst []byte) []byte {
	return l.pred.shape(append(appendName(dst, l.path.String()), ' '))
}

// Matches implements Node.
func (l *Leaf) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	return l.inDocument(env, doc, 0, s)
}

func (l *Leaf) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	return l.pred.holds(env, v, s)
}

// inDocument continues with component i of the path in a document.
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

// inArray continues with component i of the path in the elements of an array: in each document, and in
// the element whose position the component names. Other elements do not count as missing values: {"a.b":
// null} does not match {a: [1]}, unless through is set and the path continues in no element.
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
			// An element selected by position is one value, even if it is an array.
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

// value tests the value at the end of the path.
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
