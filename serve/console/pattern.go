package console

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/shard/skew"
)

// pattern describes a heat map in a word and a sentence. It is always about the load in RU and the refused requests,
// whichever metric the heat map shows.
type pattern struct {
	Kind skew.Kind `json:"kind"`
	Text string    `json:"text"`
	// Partition is the number of the hot partition, or of the busiest, within its collection; -1 for none.
	Partition int     `json:"partition"`
	Share     float64 `json:"share"`   // of the partition, from 0 to 1
	Refused   float64 `json:"refused"` // requests, in the judged time
	// NS is the collection that the pattern is about, if the heat map has several: the one that is judged worst.
	NS string `json:"ns,omitempty"`
}

// judged is the history of one collection with its judgement.
type judged struct {
	ns   string
	past *skew.Past
	skew.Pattern
}

// judge judges the history of each collection in the heat maps of RU and of refused requests, the worst first. live
// means that the time ends now.
func (q *query) judge(ru, refused *history.Heat, live bool) (out []judged) {
	var names []string
	rows := map[string][]int{} // the numbers of the rows of each collection
	for i := range ru.Rows {
		ns := ru.Rows[i].Part.Namespace
		if rows[ns] == nil {
			names = append(names, ns)
		}
		rows[ns] = append(rows[ns], i)
	}
	for _, ns := range names {
		p := q.pastOf(ns, rows[ns], ru, refused)
		p.Live = live
		out = append(out, judged{ns, p, p.Judge()})
	}
	slices.SortStableFunc(out, func(a, b judged) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.RU, a.RU))
	})
	return out
}

// rank returns how bad a judgement is.
func (j *judged) rank() int {
	switch {
	case j.Kind == skew.Ended || j.Kind == skew.Idle:
		return 0
	case j.Serious():
		return 3
	case j.Kind == skew.Hot || j.Refused > 0:
		return 2
	}
	return 1
}

// pastOf returns the history of one collection, which has the given rows of the heat maps. It has all present
// partitions, also those without load, which have no row in the heat maps.
func (q *query) pastOf(ns string, rows []int, ru, refused *history.Heat) *skew.Past {
	p := &skew.Past{Step: ru.Step}
	coll := q.Server.Cluster.Catalog().Collection(collection.ParseNamespace(ns))
	limits, present := map[int]float64{}, map[int]bool{}
	if coll != nil && coll.Map != nil {
		p.Ranged = coll.Key.Kind() == shard.Ranged
		for _, s := range q.Server.Cluster.Budgets.Collection(uint64(coll.ID)).Shares() {
			limits[s.Shard] = float64(s.RUs)
		}
		for _, d := range coll.Map.Shards() {
			present[int(d.ID)] = true
		}
	}
	line := func(h *history.Heat, r *history.HeatRow) []float64 {
		out := make([]float64, h.Columns)
		for i, c := range r.Cells {
			if at := int((r.First-h.From)/h.Step) + i; at >= 0 && at < len(out) {
				out[at] = history.Value(c)
			}
		}
		return out
	}
	for _, i := range rows {
		r := &ru.Rows[i]
		t := skew.Track{Part: r.Part.Place.Shard, RU: line(ru, r), Refused: line(refused, &refused.Rows[i])}
		if coll != nil && r.Part.Place.Collection == uint64(coll.ID) && r.Until == 0 && present[t.Part] {
			t.Limit = limits[t.Part]
			delete(present, t.Part)
		} else {
			t.Gone = true
		}
		p.Tracks = append(p.Tracks, t)
	}
	for id := range present {
		p.Tracks = append(p.Tracks, skew.Track{Part: id, RU: make([]float64, ru.Columns), Refused: make([]float64, ru.Columns), Limit: limits[id]})
	}
	return p
}

// patternOf returns the pattern of the worst of the judged collections. several means that the heat map can have
// several collections.
func patternOf(list []judged, several bool) pattern {
	if len(list) == 0 {
		return newPattern((&skew.Past{}).Judge())
	}
	p := newPattern(list[0].Pattern)
	if several {
		p.NS = list[0].ns
	}
	return p
}

// newPattern returns a judgement for a reply.
func newPattern(p skew.Pattern) pattern {
	return pattern{Kind: p.Kind, Text: p.Text(), Partition: p.Part, Share: p.Share, Refused: p.Refused}
}
