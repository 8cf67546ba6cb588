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
	// holds reports whether one value satisfies the operator. v is missing if the document has no value at the path.
	holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error)
	// append appends the operator in the form of {field: {…}}.
	append(b *bson.Builder)
	// bounds implements Pathed.Bounds.
	bounds(add func(Interval)) (exact bool)
	// shape appends the operator without its values.
	shape(dst []byte) []byte
	// reasons returns two texts for Explain: the reason for a value that does not satisfy the operator, and for a
	// value that does.
	reasons() (no, yes string)
	// sameForEqual reports that the operator has the same result for values that compare equal, and for null and a
	// missing value; see EqualForEqualValues.
	sameForEqual() bool
}

// Leaf is the filter node of one operator on one path: it matches if one of the path's values satisfies the
// predicate. Arrays on the path are searched. Unless whole is set, an array at the end of the path is searched too:
// its elements are tested before the array itself. Manual: tutorial/query-arrays.
type Leaf struct {
	path  path.Path
	parts []path.Component
	pred  predicate
	// whole tests only the array itself ($exists, $size, $elemMatch).
	whole bool
	// through is set if a path that ends inside an array without documents counts as a missing value, which null
	// matches.
	through bool
}

// newLeaf returns a Leaf that also tests the elements of an array at the end of the path.
func newLeaf(p path.Path, pred predicate) *Leaf {
	return &Leaf{path: p, parts: p.Components(), pred: pred, through: nullThrough(pred)}
}

// newWholeLeaf returns a Leaf that tests an array at the end of the path as one value, for operators such as $size.
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

// Bounds implements Pathed. If the path contains a position ("a.0"), the bounds are not exact, because the position
// reaches other values in an index than in a document. If the operator matches a missing value, the value may be
// missing in a document of an array, while the index has only the value at the position: the bounds are all keys. An
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

// inArray tests the elements of an array, from component i of the path on: each element that is a document, and the
// element whose position the component names. Other elements do not count as missing values: {"a.b": null} does not
// match {a: [1]}, unless through is set and the path continues in no element.
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
			// An element selected by position is tested as one value, even if it is an array.
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
