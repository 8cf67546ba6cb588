package insertion

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// valueOf returns an _id as the model has it.
func valueOf(v bson.RawValue) any {
	if n, ok := v.AsInt64OK(); ok {
		return int32(n)
	}
	if s, ok := v.StringValueOK(); ok {
		return s
	}
	return v.ObjectID()
}

// rows prints the documents of a cursor.
func (m *model) rows(ctx context.Context, c *mongo.Cursor) (out []string) {
	m.t.Helper()
	for c.Next(ctx) {
		out = append(out, rowOf(c.Current))
	}
	m.ok(c.Err())
	m.ok(c.Close(ctx))
	return out
}

// rowOf prints a document in the form of row.
func rowOf(d bson.Raw) string {
	return row(valueOf(d.Lookup("_id")), doc{d.Lookup("g").Int32(), d.Lookup("v").Int32()})
}

func row(id any, d doc) string { return fmt.Sprintf("%v:%d:%d", id, d.g, d.v) }

// expected returns the documents of a read.
func (m *model) expected(backwards bool, which func(d doc) bool) (out []string) {
	for _, id := range m.ids {
		if d := m.docs[id]; which == nil || which(d) {
			out = append(out, row(id, d))
		}
	}
	if backwards {
		slices.Reverse(out)
	}
	return out
}

func (m *model) same(what string, got, want []string) {
	m.t.Helper()
	if !slices.Equal(got, want) {
		m.t.Fatalf("%s:\n got %v\nwant %v\nafter %q", what, got, want, m.did)
	}
}

var natural = []bson.D{{{Key: "$natural", Value: 1}}, {{Key: "$natural", Value: -1}}}

// check makes a random read and compares its result.
func (m *model) check(ctx context.Context) {
	m.t.Helper()
	batch := int32(2 + m.r.IntN(30))
	backwards := m.r.IntN(2)
	back := backwards == 1
	switch m.r.IntN(6) {
	case 0:
		c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(batch))
		m.ok(err)
		m.same("find", m.rows(ctx, c), m.expected(false, nil))
	case 1:
		c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(batch).SetSort(natural[backwards]))
		m.ok(err)
		m.same(fmt.Sprint("sort by ", natural[backwards]), m.rows(ctx, c), m.expected(back, nil))
	case 2:
		g := m.group()
		c, err := m.coll.Find(ctx, bson.D{{Key: "g", Value: g}}, options.Find().SetBatchSize(batch).SetHint(natural[backwards]))
		m.ok(err)
		m.same(fmt.Sprint("hint ", natural[backwards]), m.rows(ctx, c), m.expected(back, func(d doc) bool { return d.g == g }))
	case 3:
		skip, limit := m.r.IntN(len(m.ids)+3), 1+m.r.IntN(9)
		c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetSkip(int64(skip)).SetLimit(int64(limit)).SetSort(natural[backwards]))
		m.ok(err)
		want := m.expected(back, nil)
		want = want[min(skip, len(want)):]
		m.same(fmt.Sprint("skip ", skip, " limit ", limit), m.rows(ctx, c), want[:min(limit, len(want))])
	case 4:
		c, err := m.coll.Aggregate(ctx, bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "all", Value: bson.D{{Key: "$push", Value: "$_id"}}}}}}})
		m.ok(err)
		var list []struct{ All []bson.RawValue }
		m.ok(c.All(ctx, &list))
		var got, want []string
		for _, x := range list {
			for _, v := range x.All {
				got = append(got, fmt.Sprint(valueOf(v)))
			}
		}
		for _, id := range m.ids {
			want = append(want, fmt.Sprint(id))
		}
		m.same("$push", got, want)
	default:
		c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetProjection(bson.D{{Key: "_id", Value: 1}}))
		m.ok(err)
		var list []bson.Raw
		m.ok(c.All(ctx, &list))
		n, err := m.coll.CountDocuments(ctx, bson.D{{Key: "v", Value: bson.D{{Key: "$gte", Value: 0}}}})
		m.ok(err)
		if len(list) != len(m.ids) || int(n) != len(m.ids) {
			m.t.Fatalf("%d documents by _id, a count of %d, want %d, after %q", len(list), n, len(m.ids), m.did)
		}
	}
}

// during reads a cursor in batches while the collection is changed.
func (m *model) during(ctx context.Context) {
	m.t.Helper()
	backwards := m.r.IntN(2)
	want := m.expected(backwards == 1, nil)
	c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(int32(2+m.r.IntN(5))).SetSort(natural[backwards]))
	m.ok(err)
	var got []string
	for c.Next(ctx) {
		got = append(got, rowOf(c.Current))
		if c.RemainingBatchLength() == 0 && m.r.IntN(2) == 0 {
			m.write(ctx)
		}
	}
	m.ok(c.Err())
	m.same("a cursor during writes", got, want)
}

// copied checks the order of a copy that $out makes.
func (m *model) copied(ctx context.Context) {
	m.t.Helper()
	to := m.coll.Database().Collection(m.coll.Name() + "_copy")
	c, err := m.coll.Aggregate(ctx, bson.A{bson.D{{Key: "$out", Value: to.Name()}}})
	m.ok(err)
	m.ok(c.Close(ctx))
	c, err = to.Find(ctx, bson.D{})
	m.ok(err)
	m.same("$out", m.rows(ctx, c), m.expected(false, nil))
	m.valid(ctx, to)
	m.ok(to.Drop(ctx))
}

// valid validates a collection.
func (m *model) valid(ctx context.Context, coll *mongo.Collection) {
	m.t.Helper()
	var v struct {
		Valid  bool
		Errors []string
	}
	m.ok(coll.Database().RunCommand(ctx, bson.D{{Key: "validate", Value: coll.Name()}}).Decode(&v))
	if !v.Valid {
		m.t.Fatalf("%s: %v\nafter %q", coll.Name(), v.Errors, m.did)
	}
}
