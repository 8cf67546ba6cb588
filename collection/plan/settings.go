package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Allowed holds the indexes that query settings permit for plans on one collection: names or key
// patterns, and "$natural" or {$natural: ±1} for a collection scan.
// Manual: reference/command/setQuerySettings.
type Allowed struct {
	Namespace collection.Namespace
	Indexes   []bson.Value
}

// Allow returns the query restricted to the indexes that query settings permit on its collection; hint and
// index filter no longer apply. some reports whether the settings apply: they name the collection, and the query has
// neither min nor max. If the permitted indexes give no plan, the query is planned without settings.
func (q *Query) Allow(list []Allowed) (allowed *Query, some bool) {
	if !q.Min.IsEmpty() || !q.Max.IsEmpty() { // the bounds belong to the hinted index
		return q, false
	}
	for _, a := range list {
		if a.Namespace == q.Coll.Namespace {
			return q.allow(a.Indexes), true
		}
	}
	return q, false
}

func (q *Query) allow(indexes []bson.Value) *Query {
	r := *q
	r.unrestricted = q
	r.Hint = bson.Value{}
	if r.naturalHint {
		r.Natural, r.naturalHint = 0, false
	}
	r.Only = []bson.Value{}
	direction := 0
	for _, v := range indexes {
		if n := naturalIn(v); n != 0 {
			direction = n
			continue
		}
		r.Only = append(r.Only, v)
	}
	r.scans = direction != 0
	if r.scans && len(r.Only) == 0 && r.Natural == 0 {
		r.Natural, r.naturalHint = direction, true
	}
	return &r
}

// naturalIn returns the direction of a permitted $natural, 0 for an index.
func naturalIn(v bson.Value) int {
	if s, ok := v.Str(); ok && s == "$natural" {
		return 1
	}
	if d, ok := v.Doc(); ok {
		if n, ok := d.Get("$natural").AsInt64(); ok && n < 0 {
			return -1
		} else if ok {
			return 1
		}
	}
	return 0
}
