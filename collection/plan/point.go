package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// point returns the plan of a point read, of one record by its key. It returns nil unless the filter consists of
// equalities on _id, not null, and on the whole shard key. It also returns nil for an _id with another order under the
// query's collation, a query with a sort, min, max or returnKey, and a collection with an order of its own.
func (q *Query) point() Node {
	if q.Coll.Options.OwnOrder() || q.Pattern != nil || len(q.Min) > 0 || len(q.Max) > 0 || q.ReturnKey {
		return nil
	}
	want := 1
	for _, f := range q.Coll.Key.Fields() {
		if f.Path.String() != "_id" {
			want++
		}
	}
	parts := []match.Node{q.Match}
	if and, ok := q.Match.(*match.And); ok {
		parts = and.Children()
	}
	if len(parts) != want {
		return nil
	}
	id, ok := q.equality("_id")
	if !ok || !q.plainOrder(id) {
		return nil
	}
	h, tail, ok := keyspace.HashMin, []byte(nil), true
	if q.Coll.Sharded() {
		h, tail, ok = q.Coll.EqualPosition(q.Match, q.collation == nil)
	}
	if !ok {
		return nil
	}
	n := &PointRead{Hash: h, ID: keystring.Append(tail, id, keystring.Ascending, q.Coll.Options.Collation.Order(), nil)}
	if q.Coll.Key.Shared() || q.fixesNull() {
		n.Filter = q.Match
	}
	return n
}

// fixesNull reports whether the filter requires null in a field of the shard key. Several stored values, such
// as null and missing, match null, so the record's key alone does not answer the filter.
func (q *Query) fixesNull() bool {
	for _, f := range q.Coll.Key.Fields() {
		if _, ok := q.equality(f.Path.String()); !ok {
			return true
		}
	}
	return false
}

// Equal returns the value to which the filter fixes a path by an equality; false if there is none, or if it is
// null.
func (q *Query) Equal(p string) (bson.Value, bool) { return q.equality(p) }

// equality returns the value to which the filter fixes a path by an equality; false if there is none, or if it
// is null.
func (q *Query) equality(p string) (bson.Value, bool) {
	vs, ok := match.Points(q.Match, p)
	if !ok || len(vs) != 1 || vs[0].IsNullish() {
		return bson.Value{}, false
	}
	return vs[0], true
}

// plainOrder reports whether the value v matches the same documents under the query's and the collection's
// collation. A value that may contain strings does only if the two are equal; a regular expression never does.
func (q *Query) plainOrder(v bson.Value) bool {
	if v.Type.HoldsText() {
		return q.Coll.Options.Collation.Equal(q.collation)
	}
	return v.Type != bson.TypeRegex
}

// Targeted reports whether the filter fixes the whole shard key to one value, so that one shard has all matches, or
// matches nothing. It is true without a shard key.
func (q *Query) Targeted() bool { return q.Coll.Targeted(q.Match, q.collation == nil) }

// KeyRanges returns the ranges of positions that can hold matches, if the filter fixes leading fields of a
// hashed shard key to values. The ranges ascend and do not touch. It returns nil if the filter fixes none, or to too
// many values, without a shard key, or under a ranged one, whose index is more selective.
func (q *Query) KeyRanges() []shard.Range {
	if !q.Coll.Sharded() || q.Coll.Key.TailParts() > 0 {
		return nil
	}
	rs := q.Coll.Ranges(q.Match, q.collation == nil)
	if len(rs) == 1 && rs[0].Lo == nil && rs[0].Hi == nil {
		return nil
	}
	return append(make([]shard.Range, 0), rs...) // an empty result is not nil: nothing matches
}
