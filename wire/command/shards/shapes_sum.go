package shards

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
)

// reportSum holds the charges of commands by their shape: those of one server, or the sums of several servers.
type reportSum struct {
	since  time.Time // the earliest of the servers
	total  ratelimit.MicroRU
	shapes int
	list   []*shape // the most expensive first
}

// reportFilter selects the shapes of a report.
type reportFilter struct {
	db, coll string // db "" stands for all databases
	one      bool   // only those of coll
	reset    bool   // remove them after reading
	history  bool   // with their minutes
}

func (w *reportFilter) matches(ns collection.Namespace) bool {
	return (w.db == "" || ns.DB == w.db) && (!w.one || ns.Coll == w.coll)
}

func (w *reportFilter) doc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("db", w.db)
	b.String("coll", w.coll)
	b.Bool("one", w.one)
	b.Bool("reset", w.reset)
	b.Bool("history", w.history)
	return b.Doc()
}

func parseReportFilter(d bson.Raw) (w reportFilter) {
	w.db, _ = d.Get("db").Str()
	w.coll, _ = d.Get("coll").Str()
	w.one, w.reset, w.history = d.Get("one").Truthy(), d.Get("reset").Truthy(), d.Get("history").Truthy()
	return w
}

// localReport returns the sums of this server.
func (s *State) localReport(w *reportFilter) *reportSum {
	sum := &reportSum{since: s.shapes.begun(), list: s.shapes.list(w.matches)}
	for _, one := range sum.list {
		sum.total += one.charge
	}
	sum.shapes = len(sum.list)
	sum.sort()
	if w.reset {
		s.shapes.forget(w.matches)
	}
	return sum
}

// sort sorts the shapes, the most expensive first.
func (r *reportSum) sort() {
	slices.SortFunc(r.list, func(a, b *shape) int {
		return cmp.Or(cmp.Compare(b.charge, a.charge), cmp.Compare(a.ns.DB, b.ns.DB), cmp.Compare(a.ns.Coll, b.ns.Coll),
			cmp.Compare(a.command, b.command), cmp.Compare(a.filter, b.filter), cmp.Compare(a.sort, b.sort))
	})
}

// clusterReport returns the charges of commands by their shape, summed over all servers of the store; incomplete
// lists the servers that did not answer.
func (s *State) clusterReport(ctx context.Context, w *reportFilter) (sum *reportSum, incomplete []string, err error) {
	others, incomplete, err := s.callPeers(ctx, callReport, w.doc())
	if err != nil {
		return nil, nil, err
	}
	sum = s.localReport(w)
	if len(others) > 0 {
		sum.add(others, s.Cluster.Now())
	}
	return sum, incomplete, nil
}

// answerReport returns the sums of this server to a peer.
func (s *State) answerReport(_ context.Context, question []byte) ([]byte, error) {
	q, err := bson.Parse(question, bson.Limits{})
	if err != nil {
		return nil, err
	}
	w := parseReportFilter(q)
	return s.localReport(&w).doc(w.history, s.Cluster.Now()), nil
}

// reportAnswerBytesMax is the maximum bytes of the list of shapes in an answer to a peer. The cheapest shapes, for
// which no room is left, count only in the totals.
const reportAnswerBytesMax = 2 << 20

// doc returns the sum as a document for a peer.
func (r *reportSum) doc(history bool, now time.Time) bson.Raw {
	b := bson.NewBuilder(nil)
	if !r.since.IsZero() {
		b.DateTime("since", r.since.UnixMilli())
	}
	b.Int64("total", int64(r.total))
	b.Int64("shapes", int64(r.shapes))
	b.BeginArray("list")
	for i := 0; i < len(r.list) && b.Len() < reportAnswerBytesMax; i++ {
		r.list[i].appendForPeer(b, history, now)
	}
	b.End()
	return b.Doc()
}

// add adds the answers of peers to the sums. Shapes of different servers with the same text are the same shape.
func (r *reportSum) add(others []bson.Raw, now time.Time) {
	type key struct {
		ns                    collection.Namespace
		command, filter, sort string
	}
	keyOf := func(s *shape) key { return key{s.ns, s.command, s.filter, s.sort} }
	at := map[key]int{}
	for i := range r.list {
		at[keyOf(r.list[i])] = i
	}
	for _, d := range others {
		if ms, ok := d.Get("since").DateTime(); ok && (r.since.IsZero() || ms < r.since.UnixMilli()) {
			r.since = time.UnixMilli(ms)
		}
		r.total += ratelimit.MicroRU(whole(d, "total"))
		r.shapes += int(whole(d, "shapes"))
		each(d, "list", func(d bson.Raw) {
			s := parseFromPeer(d, now)
			if i, ok := at[keyOf(&s)]; ok {
				r.list[i].merge(&s, now)
				r.shapes--
				return
			}
			at[keyOf(&s)] = len(r.list)
			r.list = append(r.list, &s)
		})
	}
	r.sort()
}

// counters returns the counters of a shape that merge adds up, by the names that they have in answers of peers.
func (s *shape) counters() map[string]*int64 {
	list := map[string]*int64{
		"runs": &s.runs, "failed": &s.failed, "refused": &s.refused, "charge": (*int64)(&s.charge), "took": (*int64)(&s.took),
		"loaded": &s.loaded, "visited": &s.visited, "visits": &s.visits, "paid": &s.paid, "fanOuts": &s.fanOuts, "fanned": (*int64)(&s.fanOutCharge),
		"rejected": &s.rejected,
	}
	for a := range ratelimit.RunawayActions {
		list["runaway "+a.String()] = &s.runaways[a]
	}
	for i, l := range ratelimit.Limits {
		list["refused by "+string(l)] = &s.refusedDocs[i]
	}
	return list
}

// merge adds the counts of the same shape at a peer.
func (s *shape) merge(o *shape, now time.Time) {
	theirs := o.counters()
	for name, n := range s.counters() {
		*n += *theirs[name]
	}
	s.maxCharge, s.slowest = max(s.maxCharge, o.maxCharge), max(s.slowest, o.slowest)
	s.partitions = max(s.partitions, o.partitions)
	if o.last.After(s.last) {
		s.last = o.last
	}
	if o.lastFanOut.After(s.lastFanOut) {
		s.lastFanOut = o.lastFanOut
	}
	if o.prices.costliest.ru > s.prices.costliest.ru {
		s.prices.costliest = o.prices.costliest
	}
	ru, refused := o.callers.Recent(now)
	s.callers.Merge(ru, refused, o.callers.List(now), now)
	for i := range s.times {
		s.times[i] += o.times[i]
	}
	for i := range s.minutes {
		switch m, n := &s.minutes[i], &o.minutes[i]; {
		case n.at > m.at:
			*m = *n
		case n.at == m.at:
			m.runs, m.refused, m.ru = m.runs+n.runs, m.refused+n.refused, m.ru+n.ru
		}
	}
}

// appendForPeer appends the shape with its counters, in the form of an answer to a peer; history adds its minutes.
func (s *shape) appendForPeer(b *bson.Builder, history bool, now time.Time) {
	b.BeginDoc("")
	b.String("db", s.ns.DB)
	b.String("coll", s.ns.Coll)
	b.String("command", s.command)
	b.String("filter", s.filter)
	b.String("sort", s.sort)
	s.appendFields(b)
	for name, n := range s.counters() {
		b.Int64(name, *n)
	}
	b.Int64("most", int64(s.maxCharge))
	b.Int64("slowest", int64(s.slowest))
	b.Int64("partitions", int64(s.partitions))
	b.DateTime("last", s.last.UnixMilli())
	if !s.lastFanOut.IsZero() {
		b.DateTime("lastFanOut", s.lastFanOut.UnixMilli())
	}
	s.prices.costliest.appendTo(b, true)
	appendCallersForPeer(b, &s.callers, now)
	var packed []byte
	for at, n := range s.times {
		if n > 0 {
			packed = binary.BigEndian.AppendUint32(append(packed, byte(at)), n)
		}
	}
	b.Binary("times", 0, packed)
	if history {
		packed = packed[:0]
		for _, m := range s.minutes {
			if m.at != 0 {
				for _, n := range [...]uint32{uint32(m.at), m.runs, m.refused, math.Float32bits(m.ru)} {
					packed = binary.BigEndian.AppendUint32(packed, n)
				}
			}
		}
		b.Binary("minutes", 0, packed)
	}
	b.End()
}

// parseFromPeer reads the form of appendForPeer.
func parseFromPeer(d bson.Raw, now time.Time) (s shape) {
	text := func(name string) string { t, _ := d.Get(name).Str(); return t }
	s.ns = collection.Namespace{DB: text("db"), Coll: text("coll")}
	s.command, s.filter, s.sort = text("command"), text("filter"), text("sort")
	each(d, "fields", func(d bson.Raw) {
		path, _ := d.Get("path").Str()
		by, _ := d.Get("by").Str()
		s.fields = append(s.fields, filterField{path, by})
	})
	for name, n := range s.counters() {
		*n = whole(d, name)
	}
	s.maxCharge, s.slowest = ratelimit.MicroRU(whole(d, "most")), time.Duration(whole(d, "slowest"))
	s.partitions = int(whole(d, "partitions"))
	if ms, ok := d.Get("last").DateTime(); ok {
		s.last = time.UnixMilli(ms)
	}
	if ms, ok := d.Get("lastFanOut").DateTime(); ok {
		s.lastFanOut = time.UnixMilli(ms)
	}
	s.prices.costliest = parseCostliest(d)
	mergeCallers(&s.callers, d, now)
	_, packed, _ := d.Get("times").Binary()
	for ; len(packed) >= 5; packed = packed[5:] {
		s.times[packed[0]%byte(len(s.times))] = binary.BigEndian.Uint32(packed[1:])
	}
	_, packed, _ = d.Get("minutes").Binary()
	for ; len(packed) >= 16; packed = packed[16:] {
		u := func(i int) uint32 { return binary.BigEndian.Uint32(packed[4*i:]) }
		s.minutes[u(0)%shapeMinutes] = shapeMinute{at: int32(u(0)), runs: u(1), refused: u(2), ru: math.Float32frombits(u(3))}
	}
	return s
}
