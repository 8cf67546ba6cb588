package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var opElemMatch = Operator{Name: "$elemMatch", Where: Field, Parse: parseElemMatch, Doc: "reference/operator/query/elemMatch"}

// parseElemMatch reads {$elemMatch: …} in both forms: operators on the array's elements themselves, {$gt: 1}, or a
// filter on elements that are documents or arrays, {b: 1} or {$or: […]}.
func parseElemMatch(p *parser, a operand) (Node, error) {
	d, ok := a.value.Doc()
	if !ok {
		return nil, badValue("$elemMatch needs an Object")
	}
	nested := p.nested
	p.nested = true
	defer func() { p.nested = nested }()
	if p.isValueForm(d) {
		list, err := p.ops(nil, path.Path{}, d)
		if err != nil {
			return nil, err
		}
		sub := make([]valued, len(list))
		for i, c := range list {
			if sub[i], ok = c.(valued); !ok {
				return nil, badValue("%s cannot be in $elemMatch", firstName(d))
			}
		}
		return &Leaf{path: a.path, parts: a.path.Components(), pred: &elemValue{sub, list, p.rules.order != nil}, whole: true}, nil
	}
	sub, err := p.filter(d)
	if err != nil {
		return nil, err
	}
	return &ElemMatch{Leaf{path: a.path, parts: a.path.Components(), pred: &elemDoc{sub}, whole: true}, sub}, nil
}

func (p *parser) isValueForm(d bson.Raw) bool {
	if !isOperatorDoc(d.Value(), true) {
		return false
	}
	return p.find(firstName(d), Top) == nil || firstName(d) == "$comment"
}

// elemValue matches an array with an element that satisfies all conditions.
type elemValue struct {
	sub      []valued
	list     []Node
	collated bool // the conditions compare text by a collation
}

func (e *elemValue) name() string { return "$elemMatch" }

func (*elemValue) reasons() (no, yes string) {
	return "array did not satisfy the child predicate", "array did satisfy the child predicate"
}

func (*elemValue) sameForEqual() bool { return false }

func (e *elemValue) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	i, err := e.find(env, v, s)
	return i >= 0, err
}

// find returns the position of the first element of the array v that satisfies all conditions of the $elemMatch, -1
// if there is none. If v is in no other array, the positional operator $ refers to this position.
func (e *elemValue) find(env *mql.Env, v bson.Value, s *expr.Scratch) (int, error) {
	if v.Type != bson.TypeArray {
		return -1, nil
	}
	n := 0
next:
	for it := bson.Raw(v.Data).Iter(); it.Next(); n++ {
		for _, c := range e.sub {
			ok, err := c.holds(env, it.Value, s)
			if err != nil {
				return -1, err
			}
			if !ok {
				continue next
			}
		}
		return n, nil
	}
	return -1, nil
}

func (e *elemValue) append(b *bson.Builder) {
	b.BeginDoc("$elemMatch")
	for _, c := range e.sub {
		c.appendOps(b)
	}
	b.End()
}

func (e *elemValue) shape(dst []byte) []byte { return appendList(dst, "$elemMatch", e.list) }

// bounds adds the intersection of the bounds of all conditions that are Pathed, as one element must satisfy them all.
// The bounds are not exact, because a value that is no array has the same index keys but does not match. With a
// collation, only the first of the bounds that end with text is used: the others are in the order of bytes.
func (e *elemValue) bounds(add func(Interval)) (exact bool) {
	list := []Interval{AllValues()}
	for _, c := range e.sub {
		p, ok := c.(Pathed)
		if !ok {
			continue
		}
		var own []Interval
		p.Bounds(func(i Interval) { own = append(own, i) })
		if l, ok := c.(*Leaf); ok && l.requiresArray() {
			// An element that is an array has its own key.
			own = []Interval{classBounds(bson.TypeArray)}
		}
		if e.collated && EndWithText(list) && EndWithText(own) {
			continue
		}
		list = intersect(list, own)
	}
	for _, i := range list {
		add(i)
	}
	return false
}

// requiresArray reports whether only arrays satisfy the condition.
func (l *Leaf) requiresArray() bool {
	switch l.pred.(type) {
	case size, *elemValue, *elemDoc:
		return true
	}
	return false
}

// ElemMatch is the filter node of an $elemMatch on elements that are documents or arrays: one element must match the
// filter sub. All conditions of sub hold for the same element, and the bounds of an index on a path below the array
// use that.
type ElemMatch struct {
	Leaf
	sub Node
}

// Sub returns the filter on the elements.
func (n *ElemMatch) Sub() Node { return n.sub }

// Children implements Node.
func (n *ElemMatch) Children() []Node { return []Node{n.sub} }

// elemDoc is the predicate of ElemMatch.
type elemDoc struct{ sub Node }

func (e *elemDoc) name() string { return "$elemMatch" }

func (*elemDoc) reasons() (no, yes string) {
	return "array did not satisfy the child predicate", "array did satisfy the child predicate"
}

func (*elemDoc) sameForEqual() bool { return false }

func (e *elemDoc) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	i, err := e.find(env, v, s)
	return i >= 0, err
}

func (e *elemDoc) find(env *mql.Env, v bson.Value, s *expr.Scratch) (int, error) {
	if v.Type != bson.TypeArray {
		return -1, nil
	}
	n := 0
	for it := bson.Raw(v.Data).Iter(); it.Next(); n++ {
		if err := env.Tick(); err != nil {
			return -1, err
		}
		if t := it.Value.Type; t != bson.TypeDocument && t != bson.TypeArray {
			continue
		}
		ok, err := e.sub.Matches(env, bson.Raw(it.Value.Data), s)
		if err != nil {
			return -1, err
		}
		if ok {
			return n, nil
		}
	}
	return -1, nil
}

func (e *elemDoc) append(b *bson.Builder) {
	b.BeginDoc("$elemMatch")
	e.sub.Append(b)
	b.End()
}

func (e *elemDoc) shape(dst []byte) []byte {
	return append(e.sub.shape(append(dst, "$elemMatch("...)), ')')
}

func (e *elemDoc) bounds(add func(Interval)) (exact bool) {
	add(Interval{bson.EmptyDoc, emptyBinary, true, false})
	return false
}

// ElemFirst finds the first element of an array that matches an $elemMatch. The projection operator $elemMatch
// returns this element.
type ElemFirst struct {
	f      finder
	node   Node
	source bson.Value
}

// ParseElemMatch reads the argument of the projection operator $elemMatch, which must be a document.
//
// Errors: the errors of Parse; 5626500 for $near, 224 for $jsonSchema.
func ParseElemMatch(env *mql.Env, arg bson.Value) (*ElemFirst, error) {
	arg = arg.Clone()
	n, err := parseElemMatch(newParser(env), operand{path: path.Must(""), value: arg})
	if err != nil {
		return nil, err
	}
	e := &ElemFirst{node: n, source: arg}
	Walk(n, func(c Node) {
		switch c.(type) {
		case *Near:
			err = mongoerr.New(5626500, "$geoNear, $near, and $nearSphere are not allowed in this context")
		case *Schema:
			err = mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$jsonSchema is not allowed in this context")
		}
	})
	switch n := n.(type) {
	case *Leaf:
		e.f = n.pred.(finder)
	case *ElemMatch:
		e.f = n.pred.(finder)
	}
	return e, err
}

// Find returns the first element of the array v that matches the $elemMatch; ok is false if there is none or v is no
// array. The element aliases v.
func (e *ElemFirst) Find(env *mql.Env, v bson.Value, s *expr.Scratch) (elem bson.Value, ok bool, err error) {
	i, err := e.f.find(env, v, s)
	if i < 0 || err != nil {
		return bson.Value{}, false, err
	}
	elem, ok = bson.Raw(v.Data).Index(i)
	return elem, ok, nil
}

// Append appends {$elemMatch: …} as it was given, under name.
func (e *ElemFirst) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Value("$elemMatch", e.source)
	b.End()
}
