package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// MatchPosition returns the index that the positional operator $ refers to, in a document that n matches: the index
// of the array element that matches. If arrays are nested, it is the index in the outermost array; if several
// conditions reach arrays, the last condition determines it. Conditions under $or, $nor and $not do not count. ok is
// false if no condition reached an array or n does not match. n should be normalised: an $or on one field becomes
// $in, which counts. Manual: reference/operator/update/positional, reference/operator/projection/positional.
func MatchPosition(env *mql.Env, doc bson.Raw, n Node, s *expr.Scratch) (index int, ok bool, err error) {
	p := positioner{env: env, s: s, index: -1}
	matched, err := p.node(n, doc)
	if err != nil || !matched || p.index < 0 {
		return 0, false, err
	}
	return p.index, true, nil
}

// positioner matches once more, slowly, and records positions.
type positioner struct {
	env   *mql.Env
	s     *expr.Scratch
	index int
}

func (p *positioner) node(n Node, doc bson.Raw) (bool, error) {
	switch n := n.(type) {
	case *And:
		before := p.index
		for _, c := range n.list {
			if ok, err := p.node(c, doc); !ok || err != nil {
				p.index = before
				return false, err
			}
		}
		return true, nil
	case *Leaf:
		return p.document(n, doc, 0, -1)
	case *ElemMatch:
		return p.document(&n.Leaf, doc, 0, -1)
	}
	return n.Matches(p.env, doc, p.s)
}

// finder is a predicate on arrays, such as that of $elemMatch, that also returns the index of the element that
// satisfies it, -1 if there is none.
type finder interface {
	find(env *mql.Env, v bson.Value, s *expr.Scratch) (int, error)
}

// hold reports whether the value v satisfies the predicate of l, and if so, sets p.index to at, or outside of arrays
// to the index that a finder returns. at is the index in the outermost array by which the path reached v, -1 outside
// of arrays.
func (p *positioner) hold(l *Leaf, v bson.Value, at int) (bool, error) {
	if f, ok := l.pred.(finder); ok {
		i, err := f.find(p.env, v, p.s)
		if i < 0 || err != nil {
			return false, err
		}
		if at < 0 {
			at = i
		}
	} else if ok, err := l.pred.holds(p.env, v, p.s); !ok || err != nil {
		return ok, err
	}
	if at >= 0 {
		p.index = at
	}
	return true, nil
}

func (p *positioner) document(l *Leaf, doc bson.Raw, i, at int) (bool, error) {
	v, _ := doc.Lookup(l.parts[i].Name)
	switch {
	case i < len(l.parts)-1:
		switch v.Type {
		case bson.TypeDocument:
			return p.document(l, bson.Raw(v.Data), i+1, at)
		case bson.TypeArray:
			return p.array(l, bson.Raw(v.Data), i+1, at)
		}
		v = bson.Value{}
	case v.Type == bson.TypeArray && !l.whole:
		n := 0
		for it := bson.Raw(v.Data).Iter(); it.Next(); n++ {
			if ok, err := p.hold(l, it.Value, outermost(at, n)); ok || err != nil {
				return ok, err
			}
		}
	}
	return p.hold(l, v, at)
}

func (p *positioner) array(l *Leaf, arr bson.Raw, i, at int) (bool, error) {
	n := 0
	for it := arr.Iter(); it.Next(); n++ {
		v := it.Value
		if v.Type == bson.TypeDocument {
			if ok, err := p.document(l, bson.Raw(v.Data), i, outermost(at, n)); ok || err != nil {
				return ok, err
			}
		}
		if int32(n) != l.parts[i].Index {
			continue
		}
		// This element was selected by a position in the path, to which $ does not refer, so at stays as it is.
		var ok bool
		var err error
		switch {
		case i == len(l.parts)-1:
			ok, err = p.hold(l, v, at)
		case v.Type == bson.TypeDocument:
			ok, err = p.document(l, bson.Raw(v.Data), i+1, at)
		case v.Type == bson.TypeArray:
			ok, err = p.array(l, bson.Raw(v.Data), i+1, at)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func outermost(at, n int) int {
	if at >= 0 {
		return at
	}
	return n
}
