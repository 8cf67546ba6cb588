package cluster

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/skew"
)

// Skewed is a collection with the judgement of its load in the last minute.
type Skewed struct {
	Collection *catalog.Collection
	skew.Verdict
}

// Skewed returns the collections that had a hot partition in the last minute, were at their limit, or refused
// requests, those with most refusals first. Of the refusals, and of loads without a limit, it counts those at this
// server.
func (c *Cluster) Skewed(selected func(*catalog.Collection) bool) (out []Skewed) {
	now := c.Now()
	for coll := range c.Catalog().Each {
		if coll.IsView() || coll.Map == nil || !selected(coll) {
			continue
		}
		s := Skewed{coll, skew.Judge(skew.Stats(c.Budgets.Collection(uint64(coll.ID)).Stats(now)))}
		if s.Kind.Strained() || s.Refused > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Skewed) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.RU, a.RU), cmp.Compare(a.Collection.Namespace.String(), b.Collection.Namespace.String()))
	})
	return out
}

// skewedMax is the maximum number of collections in a list for clients.
const skewedMax = 20

// AppendSkewed appends the array name with the first of a list of judged collections: the kind of load, the partition
// with most of it, and a sentence on what to do.
func AppendSkewed(b *bson.Builder, name string, list []Skewed) {
	b.BeginArray(name)
	for i := range list[:min(len(list), skewedMax)] {
		s := &list[i]
		b.BeginDoc("")
		b.String("ns", s.Collection.Namespace.String())
		AppendVerdict(b, &s.Verdict)
		b.End()
	}
	b.End()
}

// AppendVerdict appends the fields of a judgement.
func AppendVerdict(b *bson.Builder, v *skew.Verdict) {
	b.String("kind", string(v.Kind))
	b.Int32("partition", int32(v.Part))
	b.Double("share", v.Share)
	b.Int32("partitions", int32(v.Partitions))
	b.Int32("atLimit", int32(v.AtLimit))
	b.Int64("refusedLastMinute", int64(v.Refused+0.5))
	b.String("text", v.Text())
}
