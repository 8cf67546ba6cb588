package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var accPush = AccumulatorDef{Name: "$push", Parse: unary(startPush), Ordered: true, Doc: "reference/operator/aggregation/push"}

func startPush(*mql.Env) valueState { return &pushState{} }

// pushState is the state of $push: all values of a group that are not missing, encoded in one buffer.
type pushState struct {
	list valueList
}

func (t *pushState) take(_ *mql.Env, v bson.Value) (int, error) {
	if v.IsMissing() {
		return 0, nil
	}
	return t.list.add("$push", v)
}

func (t *pushState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	return t.list.merge("$push", partial)
}

func (t *pushState) Partial(b *bson.Builder, name string) { t.list.append(b, name) }

func (t *pushState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.list.append(b, name)
	return nil
}

// valueList is a growing list of values: the bytes of a BSON array that is not closed.
type valueList struct {
	b     bson.Builder
	count int
}

// listBytesMax limits the memory of one accumulator of many values in one group, and of the documents that
// $graphLookup finds for one document: a single state cannot spill, and a larger result fits no document.
// Manual: core/aggregation-pipeline-limits#memory-restrictions.
const listBytesMax = 100 << 20

func (l *valueList) add(name string, v bson.Value) (grew int, err error) {
	if l.count == 0 && l.b.Len() == 0 {
		l.b.ResetArray(nil)
	}
	before := l.b.Len()
	if before+len(v.Data) > listBytesMax {
		return 0, mongoerr.New(mongoerr.ExceededMemoryLimit,
			"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", name, listBytesMax)
	}
	l.b.Value("", v)
	l.count++
	return l.b.Len() - before, nil
}

// merge appends the elements of an array.
func (l *valueList) merge(name string, partial bson.Value) (grew int, err error) {
	a, ok := partial.Array()
	if !ok {
		return 0, badPartial(name)
	}
	for it := a.Iter(); it.Next(); {
		n, err := l.add(name, it.Value)
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

// append appends the list as an array under name.
func (l *valueList) append(b *bson.Builder, name string) {
	if l.count == 0 {
		b.Value(name, bson.EmptyArray)
		return
	}
	open := l.b // finishing a copy of the builder keeps the list open
	b.Array(name, open.Doc())
}
