package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Allowed are the indexes that query settings leave to the plans on one
// collection: names or key patterns, and "$natural" or {$natural: ±1} for reading
// the collection itself.
// Manual: reference/command/setQuerySettings.
type Allowed struct {
	Namespace collection.Namespace
	Indexes   []bson.Value
}

// Allow puts the indexes that the settings allow on the query's collection, if
// they name any, in place of its hint and index filter, and reports whether they
// did. Where the allowed indexes give no plan, the query is planned as if there
// were no settings.
func (q *Query) Allow(list []Allowed) bool {
	if !q.Min.IsEmpty() || !q.Max.IsEmpty() { // bounds belong to the index of the hint
		return false
	}
	for _, a := range list {
		if a.Namespace == q.Coll.Namespace {
			q.allow(a.Indexes)
			return true
		}
	}
	return false
}

func (q *Query) allow(indexes []bson.Value) {
	free := *q
	q.free = &free
	q.Hint = bson.Value{}
	if q.naturalHint {
		q.Natural, q.naturalHint = 0, false
	}
	q.Only = []bson.Value{}
	direction := 0
	for _, v := range indexes {
		if n := naturalIn(v); n != 0 {
			direction = n
			continue
		}
		q.Only = append(q.Only, v)
	}
	q.scans = direction != 0
	if q.scans && len(q.Only) == 0 && q.Natural == 0 {
		q.Natural, q.naturalHint = direction, true
	}
}

// naturalIn is the direction of an allowed $natural, 0 for an index.
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
