package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opPop = Operator{Name: "$pop", parse: parsePop, Doc: "reference/operator/update/pop"}

func parsePop(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	n, ok := arg.AsInt64()
	switch {
	case !arg.IsNumber():
		return nil, mongoerr.New(mongoerr.FailedToParse, "Expected a number in: %s: %s", at.text, shown(arg))
	case !ok || n != 1 && n != -1:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$pop expects 1 or -1, found: %s", arg)
	}
	return popAction{first: n < 0}, nil
}

// popAction removes the first or the last element.
type popAction struct{ first bool }

func (popAction) traits() traits { return 0 }

func (p popAction) apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error) {
	arr, ok := old.Array()
	switch {
	case old.IsMissing():
		return old, keep, nil
	case !ok:
		return old, keep, mongoerr.New(mongoerr.TypeMismatch, "Path '%s' contains an element of non-array type '%s'", n.path, old.Type)
	case arr.IsEmpty():
		return old, keep, nil
	}
	v := a.elementsOf(arr)
	if p.first {
		v = v[1:]
	} else {
		v = v[:len(v)-1]
	}
	return a.array(v), set, nil
}

// elementsOf returns the elements of an array in working memory.
func (a *applier) elementsOf(arr bson.Raw) []bson.Value {
	a.values = a.values[:0]
	for it := arr.Iter(); it.Next(); {
		a.values = append(a.values, it.Value)
	}
	return a.values
}

// array returns an array value in a's arena.
func (a *applier) array(values []bson.Value) bson.Value {
	a.build.ResetArray(a.buf[:0])
	for _, v := range values {
		a.build.Value("", v)
	}
	a.buf = a.build.Finish()
	return bson.Value{Type: bson.TypeArray, Data: a.s.Copy(a.buf)}
}
