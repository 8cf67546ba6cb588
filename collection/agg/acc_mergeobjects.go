package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var accMergeObjects = AccumulatorDef{Name: "$mergeObjects", Parse: parseMergeObjects, Ordered: true, Since: "3.6", Doc: "reference/operator/aggregation/mergeObjects"}

// parseMergeObjects parses the argument. A value that is no document fails with 5911200, in a window with 40400, the code of
// the expression. Observed: mongod 8.2, which runs accumulators of groups in another engine.
func parseMergeObjects(p *parser, name string, v bson.Value) (Func, error) {
	code := mongoerr.Code(5911200)
	if p.window {
		code = 40400
	}
	return unary(func(*mql.Env) valueState { return &mergeObjectsState{doc: bson.Empty, wrong: code} })(p, name, v)
}

// mergeObjectsState is the state of $mergeObjects: the merged document, in which fields of later documents
// replace earlier ones. A small document is encoded anew for each merged one. A document beyond encodedMergeMax is kept
// as a list of fields, because encoding it for each of n documents with new fields costs n² in all.
type mergeObjectsState struct {
	doc    bson.Raw
	spare  []byte
	fields *mergedFields // nil while the document is small
	wrong  mongoerr.Code // of the error for a value that is no document
}

// encodedMergeMax is the length in bytes up to which the document of a mergeObjectsState stays encoded.
const encodedMergeMax = 1 << 10

func (t *mergeObjectsState) take(env *mql.Env, v bson.Value) (int, error) {
	if v.IsNullish() {
		return 0, nil
	}
	d, ok := v.Doc()
	if !ok {
		return 0, mongoerr.New(t.wrong, "$mergeObjects requires object inputs, but input is of type %s", v.Type)
	}
	if t.fields != nil {
		if err := env.Spend(len(d)); err != nil {
			return 0, err
		}
		return t.fields.put(d), nil
	}
	if err := env.Spend(len(t.doc) + len(d)); err != nil {
		return 0, err
	}
	look := max(expr.LookupBytes(t.doc, len(d)), expr.LookupBytes(d, len(t.doc)))
	if err := env.Memory.GrowValues(look, "$mergeObjects"); err != nil {
		return 0, err
	}
	defer env.Memory.ShrinkValues(look)
	before := cap(t.doc) + cap(t.spare)
	b := bson.NewBuilder(t.spare[:0])
	have := putOver(b, t.doc, d)
	for it := d.Iter(); it.Next(); { // new fields keep their order, as in the expression
		if _, ok := have.Lookup(it.Name); !ok {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	out := b.Doc()
	t.spare, t.doc = t.doc, out
	if len(t.spare) == len(bson.Empty) {
		t.spare = nil // never overwrite the constant
	}
	if len(t.doc) <= encodedMergeMax {
		return cap(t.doc) + cap(t.spare) - before, nil
	}
	t.fields = &mergedFields{}
	grew := t.fields.put(t.doc)
	t.doc, t.spare = nil, nil
	return grew - before, nil
}

func (t *mergeObjectsState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return t.take(env, partial)
}

func (t *mergeObjectsState) Partial(b *bson.Builder, name string) {
	if t.fields != nil {
		t.fields.append(b, name)
		return
	}
	b.Raw(name, t.doc)
}

func (t *mergeObjectsState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.Partial(b, name)
	return nil
}
