package shards

import (
	"cmp"
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
)

const (
	// callersShown is the number of callers of a collection in a request report, and collectionsShown the number of
	// collections.
	callersShown     = 4
	collectionsShown = 50
)

// load holds the sums of which callers have shares.
type load struct {
	ru                      ratelimit.MicroRU
	recentRU, recentRefused float64
}

// add adds the load of a shape.
func (l *load) add(s *shape, now time.Time) {
	ru, refused := s.callers.Recent(now)
	l.ru, l.recentRU, l.recentRefused = l.ru+s.charge, l.recentRU+ru, l.recentRefused+refused
}

// appendCallers appends the callers of a shape, those with most of its recent load and refusals first, each with its
// share of the load.
func appendCallers(b *bson.Builder, s *shape, now time.Time) {
	var all load
	all.add(s, now)
	b.BeginArray("callers")
	for _, u := range s.callers.List(now) {
		b.BeginDoc("")
		appendCaller(b, &u, &all)
		b.End()
	}
	b.End()
}

// appendCaller appends the fields of one caller.
func appendCaller(b *bson.Builder, u *ratelimit.CallerUse, all *load) {
	appendOrigin(b, u.Caller)
	b.Int64("count", u.Runs)
	b.Double("ru", u.RU.Float())
	b.Double("ruPercent", percentOf(u.RU.Float(), all.ru.Float()))
	b.Double("recentPercent", percentOf(u.RecentRU, all.recentRU))
	b.Int64("throttledDocuments", u.Refused)
	b.Double("recentThrottledPercent", percentOf(u.RecentRefused, all.recentRefused))
	b.DateTime("last", u.Last*1000)
}

// appendOrigin appends the parts of a caller that the server has.
func appendOrigin(b *bson.Builder, c *ratelimit.Caller) {
	for _, part := range [...]struct{ name, text string }{{"appName", c.App}, {"driver", c.Driver}, {"user", c.User}} {
		if part.text != "" {
			b.String(part.name, part.text)
		}
	}
}

// percentOf returns a percentage with one decimal, at most 100; 0 of nothing.
func percentOf(part, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return min(100, float64(int64(1000*part/all+0.5))/10)
}

// appendCollectionCallers appends the callers of each collection of a report, summed over its shapes, the collections
// with most of the recent load first.
func appendCollectionCallers(b *bson.Builder, list []*shape, now time.Time) {
	type one struct {
		ns  collection.Namespace
		all load
		by  []ratelimit.CallerUse
	}
	sums := map[collection.Namespace]*one{}
	for _, s := range list {
		x := sums[s.ns]
		if x == nil {
			x = &one{ns: s.ns}
			sums[s.ns] = x
		}
		x.all.add(s, now)
		x.by = append(x.by, s.callers.List(now)...)
	}
	ordered := make([]*one, 0, len(sums))
	for _, x := range sums {
		ordered = append(ordered, x)
	}
	recent := func(x *one) float64 { return x.all.recentRU + x.all.recentRefused }
	slices.SortFunc(ordered, func(x, y *one) int {
		return cmp.Or(cmp.Compare(recent(y), recent(x)), cmp.Compare(x.ns.String(), y.ns.String()))
	})
	b.BeginArray("callers")
	for _, x := range ordered[:min(len(ordered), collectionsShown)] {
		by := ratelimit.MergeCallers(x.by)
		for i := range by[:min(len(by), callersShown)] {
			b.BeginDoc("")
			b.String("ns", x.ns.String())
			appendCaller(b, &by[i], &x.all)
			b.End()
		}
	}
	b.End()
}

// appendPartitionCallers appends the callers of a partition, those with most of its recent load first, each with its
// share of the load.
func appendPartitionCallers(b *bson.Builder, of *ratelimit.Callers, now time.Time) {
	recent, _ := of.Recent(now)
	b.BeginArray("callers")
	for _, u := range of.List(now) {
		b.BeginDoc("")
		appendOrigin(b, u.Caller)
		b.Double("ru", u.RU.Float())
		b.Double("recentPercent", percentOf(u.RecentRU, recent))
		b.DateTime("last", u.Last*1000)
		b.End()
	}
	b.End()
}

// appendCallersForPeer appends the callers of a shape or a partition in the form of an answer to a peer.
func appendCallersForPeer(b *bson.Builder, of *ratelimit.Callers, now time.Time) {
	ru, refused := of.Recent(now)
	b.Double("recentRU", ru)
	b.Double("recentRefused", refused)
	b.BeginArray("callers")
	for _, u := range of.List(now) {
		b.BeginDoc("")
		appendOrigin(b, u.Caller)
		b.Int64("ru", int64(u.RU))
		b.Int64("runs", u.Runs)
		b.Int64("refused", u.Refused)
		b.Double("recentRU", u.RecentRU)
		b.Double("recentRefused", u.RecentRefused)
		b.Int64("last", u.Last)
		b.End()
	}
	b.End()
}

// mergeCallers adds to callers those of a peer, in the form of appendCallersForPeer.
func mergeCallers(to *ratelimit.Callers, d bson.Raw, now time.Time) {
	number := func(d bson.Raw, name string) float64 { n, _ := d.Get(name).AsFloat(); return n }
	var list []ratelimit.CallerUse
	each(d, "callers", func(d bson.Raw) {
		list = append(list, ratelimit.CallerUse{Caller: parseOrigin(d), RU: ratelimit.MicroRU(whole(d, "ru")), Runs: whole(d, "runs"), Refused: whole(d, "refused"),
			RecentRU: number(d, "recentRU"), RecentRefused: number(d, "recentRefused"), Last: whole(d, "last")})
	})
	to.Merge(number(d, "recentRU"), number(d, "recentRefused"), list, now)
}

// parseOrigin reads the form of appendOrigin.
func parseOrigin(d bson.Raw) *ratelimit.Caller {
	c := &ratelimit.Caller{}
	c.App, _ = d.Get("appName").Str()
	c.Driver, _ = d.Get("driver").Str()
	c.User, _ = d.Get("user").Str()
	return c
}

// appendHotCallers appends the callers of a hot key in a reply, with their shares of its weight.
func appendHotCallers(b *bson.Builder, k *ratelimit.Hot) {
	if len(k.By) == 0 {
		return
	}
	b.BeginArray("callers")
	for _, u := range k.By {
		b.BeginDoc("")
		appendOrigin(b, u.Caller)
		b.Double("ru", ratelimit.MicroRU(u.Weight).Float())
		b.Double("ruPercent", percentOf(float64(u.Weight), float64(k.Weight)))
		b.End()
	}
	b.End()
}

// appendKeyCallers appends the callers of a hot key in an answer to a peer.
func appendKeyCallers(b *bson.Builder, list []ratelimit.CallerWeight) {
	if len(list) == 0 {
		return
	}
	b.BeginArray("by")
	for _, u := range list {
		b.BeginDoc("")
		appendOrigin(b, u.Caller)
		b.Int64("weight", u.Weight)
		b.End()
	}
	b.End()
}

// parseKeyCallers reads the form of appendKeyCallers from the document of a hot key.
func parseKeyCallers(d bson.Raw) (list []ratelimit.CallerWeight) {
	each(d, "by", func(d bson.Raw) {
		list = append(list, ratelimit.CallerWeight{Caller: parseOrigin(d), Weight: whole(d, "weight")})
	})
	return list
}
