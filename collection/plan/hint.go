package plan

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// planning returns an error of the planner in MongoDB's words.
func (q *Query) planning(code mongoerr.Code, what string) error {
	return mongoerr.New(code, "error processing query: ns=%s: planner returned error :: caused by :: %s", q.Coll.Namespace, what)
}

// hinted returns the index of the hint, nil without a hint.
// Manual: reference/method/cursor.hint.
//
// Errors: BadValue (2) if no ready, visible index matches the hint, IndexNotFound (27) if a key pattern matches
// several.
func (q *Query) hinted() (*catalog.Index, error) {
	if q.Hint.IsMissing() {
		return nil, nil
	}
	var found *catalog.Index
	for _, ix := range q.Coll.Indexes {
		if !usable(ix) || !names(q.Hint, ix) || q.stable && (ix.Sparse || ix.Text != nil) {
			continue // version 1 of the stable API has no sparse or text indexes
		}
		if found != nil {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "Hint matched multiple indexes, must hint by index name. Matched: %s and %s", found.Name, ix.Name)
		}
		found = ix
	}
	if found == nil {
		return nil, q.planning(mongoerr.BadValue, "hint provided does not correspond to an existing index; "+
			"list them with listIndexes, or create the index first")
	}
	return found, nil
}

// usable reports whether plans may read the index.
func usable(ix *catalog.Index) bool {
	return ix.State == catalog.IndexReady && !ix.Hidden && !ix.LastWrite
}

// names reports whether a hint, a name or a key pattern, refers to the index.
func names(hint bson.Value, ix *catalog.Index) bool {
	if name, ok := hint.Str(); ok {
		return name == ix.Name
	}
	key, ok := hint.Doc()
	return ok && sameNames(key, ix.Key) && bson.Equal(key.Value(), ix.Key.Value(), nil)
}

// indexes returns the indexes that the query may use.
func (q *Query) indexes() []*catalog.Index {
	out := make([]*catalog.Index, 0, len(q.Coll.Indexes))
	for _, ix := range q.Coll.Indexes {
		if usable(ix) && (q.Only == nil || slices.ContainsFunc(q.Only, func(v bson.Value) bool { return names(v, ix) })) {
			out = append(out, ix)
		}
	}
	return out
}

// byHint plans with the hinted index. If the filter does not bound the index, the plan reads all of it.
//
// Errors: errors of minMax; NoQueryExecutionPlans (291) for a text index, or a wildcard index that does not fit.
func (q *Query) byHint(ix *catalog.Index, cs []conjunct) ([]*Solution, error) {
	if !q.Min.IsEmpty() || !q.Max.IsEmpty() {
		s, err := q.minMax(ix, cs)
		return []*Solution{s}, err
	}
	if q.Distinct != "" {
		if s := q.distinct(ix, cs); s != nil {
			return []*Solution{s}, nil
		}
	}
	sols := q.through(ix, cs, true)
	if s := q.planSortMerge(ix, cs); s != nil {
		sols = append([]*Solution{s}, sols...)
	}
	if len(sols) == 0 && ix.Kind.Name == "wildcard" {
		if s := q.planWildcardOr(ix, cs); s != nil {
			return []*Solution{s}, nil
		}
	}
	if len(sols) == 0 {
		return nil, q.planning(mongoerr.NoQueryExecutionPlans, "No indexed plans available, and running with 'notablescan' or a hint that cannot be used")
	}
	sortByScore(sols)
	return sols[:1], nil
}

// planWildcardOr plans an $or with a hinted wildcard index, which is looked up once for the path of each
// clause. It returns nil if the index does not contain all these paths.
func (q *Query) planWildcardOr(ix *catalog.Index, cs []conjunct) *Solution {
	var a bson.Arena
	sub := *q
	sub.Only = []bson.Value{a.String(ix.Name)}
	if sols := sub.union(cs); sols != nil {
		return sols[0]
	}
	return nil
}

// minMax plans a find with the arguments min and max: a scan of the hinted index from the key min (inclusive)
// to the key max (exclusive), in the order of the index.
//
// Errors: 51174 for keys that do not fit the index or its collation, 51175 if min is not before max.
func (q *Query) minMax(ix *catalog.Index, cs []conjunct) (*Solution, error) {
	lo, err := q.boundKey(ix, q.Min)
	if err != nil {
		return nil, err
	}
	hi, err := q.boundKey(ix, q.Max)
	if err != nil {
		return nil, err
	}
	if lo != nil && hi != nil && bytes.Compare(lo, hi) >= 0 {
		return nil, mongoerr.New(51175, "The value provided for min() does not come before the value provided for max() in the hinted index")
	}
	a := q.fullAccess(ix, cs)
	a.key = &KeyBounds{Bounds: keyspace.Bounds{Lo: lo, Hi: hi, HiOpen: true}, Min: q.Min, Max: q.Max}
	a.bounded = 1
	return q.solve(ix, cs, a, true), nil
}

// boundKey encodes a key of min or max.
func (q *Query) boundKey(ix *catalog.Index, key bson.Raw) ([]byte, error) {
	if key.IsEmpty() {
		return nil, nil
	}
	if !ix.IsOrdered() && ix.Kind.Name != "hashed" || !sameNames(key, ix.Key) {
		return nil, mongoerr.New(51174, "The hinted index %s is not compatible with the bounds %s of min() or max(): its fields are %s", ix.Name, key, ix.Key)
	}
	var out []byte
	i := 0
	for v := range key.Values() {
		if !ix.Collation.Equal(q.collation) && v.Type.HoldsText() {
			return nil, mongoerr.New(51174, "The hinted index %s has another collation than the query, whose min() or max() holds a string", ix.Name)
		}
		out = keystring.Append(out, v, ix.Dirs()[i], ix.Collation.Order(), nil)
		i++
	}
	return out, nil
}
