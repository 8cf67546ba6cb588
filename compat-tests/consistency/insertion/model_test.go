package insertion

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// model holds the documents of a collection in the expected order of reads. They are {_id, g, v}: g is fixed,
// and v counts the updates.
type model struct {
	t    *testing.T
	r    *rand.Rand
	coll *mongo.Collection
	ids  []any
	docs map[any]doc
	gone []any // ids of deleted documents
	low  int
	high int
	did  []string // the last writes
}

type doc struct{ g, v int32 }

// groups is the number of values of g.
const groups = 7

func newModel(t *testing.T, r *rand.Rand, coll *mongo.Collection) *model {
	return &model{t: t, r: r, coll: coll, docs: map[any]doc{}}
}

func (m *model) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%v\nafter %q", err, m.did)
	}
}

func (m *model) note(format string, args ...any) {
	if m.did = append(m.did, fmt.Sprintf(format, args...)); len(m.did) > 40 {
		m.did = m.did[1:]
	}
}

// fresh draws an id that no document has.
func (m *model) fresh() any {
	for {
		var id any
		switch m.r.IntN(7) {
		case 0, 1:
			m.high += 1 + m.r.IntN(3)
			id = int32(m.high)
		case 2:
			m.low -= 1 + m.r.IntN(3)
			id = int32(m.low)
		case 3:
			id = int32(m.r.IntN(200) - 100)
		case 4:
			id = fmt.Sprintf("%04x", m.r.IntN(1<<16))[:1+m.r.IntN(4)]
		case 5:
			id = bson.NewObjectID()
		default:
			if len(m.gone) == 0 {
				continue
			}
			id = m.gone[m.r.IntN(len(m.gone))]
		}
		if _, taken := m.docs[id]; !taken {
			return id
		}
	}
}

func (m *model) some() any { return m.ids[m.r.IntN(len(m.ids))] }

func (m *model) add(id any, d doc) bson.D {
	m.ids, m.docs[id] = append(m.ids, id), d
	return document(id, d)
}

func document(id any, d doc) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: "g", Value: d.g}, {Key: "v", Value: d.v}}
}

func (m *model) remove(id any) {
	m.ids = slices.DeleteFunc(m.ids, func(x any) bool { return x == id })
	delete(m.docs, id)
	if m.gone = append(m.gone, id); len(m.gone) > 20 {
		m.gone = m.gone[1:]
	}
}

func (m *model) group() int32 { return int32(m.r.IntN(groups)) }

// clone returns a model in the same state, for a transaction.
func (m *model) clone() *model {
	c := *m
	c.ids, c.gone, c.docs = slices.Clone(m.ids), slices.Clone(m.gone), maps.Clone(m.docs)
	return &c
}

// write makes one random write, or a few.
func (m *model) write(ctx context.Context) {
	m.t.Helper()
	n := m.r.IntN(12)
	if len(m.ids) < 3 {
		n = m.r.IntN(2)
	}
	switch n {
	case 0, 1, 2:
		id := m.fresh()
		m.note("insert %v", id)
		_, err := m.coll.InsertOne(ctx, m.add(id, doc{m.group(), 0}))
		m.ok(err)
	case 3, 4:
		var docs []any
		for range 1 + m.r.IntN(12) {
			docs = append(docs, m.add(m.fresh(), doc{m.group(), 0}))
		}
		m.note("insert many %v", docs)
		_, err := m.coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(m.r.IntN(2) == 0))
		m.ok(err)
	case 5:
		m.delete(ctx)
	case 6:
		id := m.some()
		m.note("delete and insert %v", id)
		_, err := m.coll.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
		m.ok(err)
		d := m.docs[id]
		m.remove(id)
		_, err = m.coll.InsertOne(ctx, m.add(id, d))
		m.ok(err)
	case 7:
		id := m.some()
		d := m.docs[id]
		d.v++
		m.note("change %v", id)
		if m.r.IntN(2) == 0 {
			_, err := m.coll.ReplaceOne(ctx, bson.D{{Key: "_id", Value: id}}, document(id, d))
			m.ok(err)
		} else {
			_, err := m.coll.UpdateByID(ctx, id, bson.D{{Key: "$inc", Value: bson.D{{Key: "v", Value: int32(1)}}}})
			m.ok(err)
		}
		m.docs[id] = d
	case 8:
		id := m.fresh()
		m.note("upsert %v", id)
		_, err := m.coll.UpdateByID(ctx, id, bson.D{{Key: "$set", Value: bson.D{{Key: "g", Value: int32(1)}, {Key: "v", Value: int32(0)}}}}, options.UpdateOne().SetUpsert(true))
		m.ok(err)
		m.add(id, doc{1, 0})
	case 9:
		m.first(ctx)
	case 10:
		m.bulk(ctx)
	case 11:
		g := m.group()
		m.note("change group %d", g)
		_, err := m.coll.UpdateMany(ctx, bson.D{{Key: "g", Value: g}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "v", Value: int32(1)}}}})
		m.ok(err)
		for id, d := range m.docs {
			if d.g == g {
				m.docs[id] = doc{d.g, d.v + 1}
			}
		}
	}
}

// delete deletes one document, or those of a group.
func (m *model) delete(ctx context.Context) {
	if m.r.IntN(3) > 0 {
		id := m.some()
		if m.r.IntN(2) == 0 {
			id = m.ids[len(m.ids)-1]
		}
		m.note("delete %v", id)
		_, err := m.coll.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
		m.ok(err)
		m.remove(id)
		return
	}
	g := m.group()
	m.note("delete group %d", g)
	_, err := m.coll.DeleteMany(ctx, bson.D{{Key: "g", Value: g}})
	m.ok(err)
	for _, id := range slices.Clone(m.ids) {
		if m.docs[id].g == g {
			m.remove(id)
		}
	}
}

// first deletes the first document of a group in insertion order, or the last one.
func (m *model) first(ctx context.Context) {
	g, ids, o := m.group(), slices.Clone(m.ids), options.FindOneAndDelete()
	if m.r.IntN(2) == 0 {
		slices.Reverse(ids)
		o.SetSort(bson.D{{Key: "$natural", Value: -1}})
	}
	at := slices.IndexFunc(ids, func(id any) bool { return m.docs[id].g == g })
	if at < 0 {
		return
	}
	m.note("delete the first of group %d, %v", g, ids[at])
	raw, err := m.coll.FindOneAndDelete(ctx, bson.D{{Key: "g", Value: g}}, o).Raw()
	m.ok(err)
	if got := valueOf(raw.Lookup("_id")); got != ids[at] {
		m.t.Fatalf("the first document of group %d was %v, want %v, after %q", g, got, ids[at], m.did)
	}
	m.remove(ids[at])
}

func (m *model) bulk(ctx context.Context) {
	var list []mongo.WriteModel
	for range 1 + m.r.IntN(6) {
		switch m.r.IntN(3) {
		case 0:
			if len(m.ids) > 0 {
				id := m.some()
				list = append(list, mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: id}}))
				m.remove(id)
			}
		case 1:
			id := m.fresh()
			list = append(list, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: id}}).SetReplacement(m.add(id, doc{2, 0})).SetUpsert(true))
		default:
			list = append(list, mongo.NewInsertOneModel().SetDocument(m.add(m.fresh(), doc{m.group(), 0})))
		}
	}
	if len(list) == 0 {
		return
	}
	m.note("bulk of %d", len(list))
	_, err := m.coll.BulkWrite(ctx, list)
	m.ok(err)
}

// transaction makes some writes in a transaction, with reads in it, and ends it either way.
func (m *model) transaction(ctx context.Context) {
	s, err := m.coll.Database().Client().StartSession()
	m.ok(err)
	defer s.EndSession(ctx)
	m.ok(s.StartTransaction())
	inside, inner := m.clone(), mongo.NewSessionContext(ctx, s)
	inside.note("begin")
	for range 1 + m.r.IntN(5) {
		inside.write(inner)
		if m.r.IntN(3) == 0 {
			inside.check(inner)
		}
	}
	if m.r.IntN(3) == 0 {
		m.note("aborted: %q", inside.did)
		m.ok(s.AbortTransaction(ctx))
		return
	}
	m.ok(s.CommitTransaction(ctx))
	inside.note("commit")
	*m = *inside
}
