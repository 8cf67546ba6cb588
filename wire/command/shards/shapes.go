package shards

import (
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/command"
)

// shapes adds up the charges of commands by their shape: the command, its collection, and its filter and sort without
// values. Its memory is bounded: if one of its parts is full, it evicts the cheapest of evictSamples shapes. The zero
// shapes is ready for use.
type shapes struct {
	seed  maphash.Seed
	once  sync.Once
	since atomic.Int64 // in milliseconds since 1970, 0 before the first command
	parts [shapeParts]struct {
		mu sync.Mutex
		by map[string]*shape
		untaken
	}
}

const (
	shapeParts    = 16  // tables, each with a mutex of its own
	shapesMax     = 128 // of one part
	shapeTextMax  = 600 // bytes of filter and sort
	shapeListMax  = 16  // branches of $or that are examined
	shapeDepthMax = 8   // levels of a filter that are examined
	evictSamples  = 8   // shapes that an eviction compares, of which the cheapest is removed
	shapeMinutes  = 60  // stored for each shape, which takes a kilobyte
	// fanOutsWarned is the number of runs of one shape on several partitions after which the log has a warning.
	fanOutsWarned = 100
)

// shape holds the counts and sums of all runs of one shape. The mutex of its part guards it.
type shape struct {
	ns                collection.Namespace
	command           string
	filter, sort      string
	fields            []filterField
	runs, failed      int64
	refused           int64                           // runs that were refused as a whole
	refusedDocs       ratelimit.LimitCounts           // documents or statements that were refused, at least one for each refused run
	runaways          [ratelimit.RunawayActions]int64 // commands that reached their cap, by action
	rejected          int64                           // runs that query settings refused
	charge, maxCharge ratelimit.MicroRU
	took, slowest     time.Duration
	loaded            int64 // documents
	visited           int64 // partitions, summed over runs
	visits            int64 // runs that visited at least one partition
	paid              int64 // visits of partitions that were charged
	fanOuts           int64 // runs that visited several partitions
	fanOutCharge      ratelimit.MicroRU
	partitions        int // of the collection, at the last fan-out
	last, lastFanOut  time.Time
	times             shapeTimes                // durations of the runs
	minutes           [shapeMinutes]shapeMinute // of the last hour, at index minute modulo shapeMinutes
	prices            shapePrices
	callers           ratelimit.Callers
	pending           history.ShapeWork // since the last TakeShapes
	billed            *history.Shape    // its name in the ledger
}

// shapeMinute holds the counts of a shape in one minute.
type shapeMinute struct {
	at            int32  // minutes since 1970
	runs, refused uint32 // refused are documents or statements
	ru            float32
}

// filterField is the path of a field that a filter restricts, and the kind of the condition on it.
type filterField struct {
	path string
	by   string // equal, in, range or other
}

// shapeRun holds the measurements of one command.
type shapeRun struct {
	charge     ratelimit.MicroRU
	took       time.Duration
	loaded     int64
	visited    int
	paid       int64 // visits of partitions in the charge
	partitions int   // partitions of the collection
	failed     bool
	refused    bool
	docs       ratelimit.LimitCounts // documents or statements that were refused
	runaway    ratelimit.RunawayAction
	ranAway    bool // the command has reached its cap, with that action
	rejected   bool // by query settings
	more       bool // a getMore: its query has been counted already
	ran        int  // statements that were not refused
	priced     bool // the prices of the shape are needed
	caller     *ratelimit.Caller
}

// record counts a run of a command under its shape; for a batch, body is its first statement. text is memory for the
// text of the shape, which is returned for reuse. usual is the average cost of runs of the shape that were not
// refused. prices are those of the shape, nil unless r.priced. If the shape has just reached fanOutsWarned, warn is a
// copy of it. billed is the name of the shape in the ledger.
func (x *shapes) record(text []byte, ns collection.Namespace, d *command.Def, body bson.Raw, r shapeRun, now time.Time) (_ []byte, usual averageRun, prices *shapePrices, warn *shape, billed *history.Shape) {
	x.once.Do(func() { x.seed = maphash.MakeSeed(); x.since.Store(now.UnixMilli()) })
	text, filter, from, to := appendShapeOf(text[:0], ns, d, body)
	priced, value := r.ran > 0 && !r.failed, uint64(0)
	if priced {
		value = x.valueHash(filter)
	}
	part := &x.parts[maphash.Bytes(x.seed, text)%shapeParts]
	part.mu.Lock()
	defer part.mu.Unlock()
	s := part.by[string(text)]
	if s == nil {
		if part.by == nil {
			part.by = map[string]*shape{}
		}
		if len(part.by) >= shapesMax {
			part.keep(evict(part.by))
		}
		s = &shape{ns: ns, command: d.Name, filter: string(text[from:to]), sort: strings.TrimSpace(string(text[to:])), fields: filterFields(nil, filter)}
		s.ns.DB, s.ns.Coll = strings.Clone(ns.DB), strings.Clone(ns.Coll)
		s.billed = s.named()
		part.by[string(text)] = s
	}
	warn = s.add(r, now)
	part.busy = true
	if n := float64(s.runs - s.refused); n > 0 {
		usual = averageRun{s.charge.Float() / n, float64(s.paid) / n}
	}
	if priced {
		s.prices.add(value, r.runs(), r.charge.Float())
		s.prices.costliest.note(body, filter, r.charge.Float()/float64(r.ran), now)
	}
	if r.priced {
		prices = new(s.prices)
	}
	return text, usual, prices, warn, s.billed
}

// appendShapeOf appends the text of a command's shape, in which its filter is text[from:to].
func appendShapeOf(text []byte, ns collection.Namespace, d *command.Def, body bson.Raw) (_ []byte, filter bson.Raw, from, to int) {
	var sort bson.Raw
	if d.Query != nil {
		filter, sort = d.Query(body)
	}
	text = append(append(append(append(append(text, ns.DB...), '.'), ns.Coll...), ' '), d.Name...)
	text = append(text, ' ')
	from = len(text)
	text = appendShape(text, filter, 0)
	to = len(text)
	if !sort.IsEmpty() {
		text = appendSort(append(text, ' '), sort)
	}
	text = text[:min(len(text), from+shapeTextMax)]
	return text, filter, from, min(to, len(text))
}

// text returns the text of appendShapeOf.
func (s *shape) text() string {
	text := s.ns.String() + " " + s.command + " " + s.filter
	if s.sort != "" {
		text += " " + s.sort
	}
	return text
}

// named returns the name of a shape.
func (s *shape) named() *history.Shape {
	return &history.Shape{Namespace: s.ns.String(), Command: s.command, Filter: strings.ToValidUTF8(s.filter, "\uFFFD"), Sort: s.sort}
}

// runs returns the number of statements that ran, 0 for a page of a query that was counted.
func (r *shapeRun) runs() int {
	if r.more {
		return 0
	}
	return r.ran
}

// queries returns the number of commands, 0 for a page of a query that was counted.
func (r *shapeRun) queries() int64 {
	if r.more {
		return 0
	}
	return 1
}

// averageRun is the average cost of one run of a shape, in request units, and the average number of partitions that a
// run visits.
type averageRun struct{ ru, visits float64 }

// add counts one run.
func (s *shape) add(r shapeRun, now time.Time) (warn *shape) {
	queries, ru := r.queries(), r.charge.Float()
	s.runs += queries
	if r.failed {
		s.failed++
	}
	if r.refused {
		s.refused++
	}
	s.refusedDocs.Add(&r.docs)
	if r.ranAway {
		s.runaways[r.runaway]++
	}
	if r.rejected {
		s.rejected++
	}
	s.charge += r.charge
	s.paid += r.paid
	refused := r.docs.Sum()
	s.pending.Add(history.ShapeWork{RU: ru, Runs: queries, Refused: refused})
	s.maxCharge = max(s.maxCharge, r.charge)
	s.took += r.took
	s.slowest = max(s.slowest, r.took)
	s.loaded += r.loaded
	s.last = now
	s.times.add(r.took)
	s.callers.Add(r.caller, queries, refused, r.charge, now)
	at := int32(now.Unix() / 60)
	m := &s.minutes[uint32(at)%shapeMinutes]
	if m.at != at {
		*m = shapeMinute{at: at}
	}
	m.ru += float32(ru)
	m.runs += uint32(queries)
	m.refused += uint32(min(refused, math.MaxUint32-int64(m.refused)))
	if r.visited > 0 {
		s.visited += int64(r.visited)
		s.visits++
	}
	if r.visited > 1 && len(s.fields) > 0 {
		s.fanOuts++
		s.lastFanOut = now
		s.fanOutCharge += r.charge
		s.partitions = r.partitions
		if s.fanOuts == fanOutsWarned {
			copied := *s
			return &copied
		}
	}
	return nil
}

// begun returns the time of the first counted command; zero before.
func (x *shapes) begun() time.Time {
	if at := x.since.Load(); at != 0 {
		return time.UnixMilli(at)
	}
	return time.Time{}
}

// evict removes the cheapest of a few shapes, and returns it.
func evict(by map[string]*shape) *shape {
	cheapest, n := "", 0
	for k, s := range by {
		if n == 0 || s.charge < by[cheapest].charge {
			cheapest = k
		}
		if n++; n == evictSamples {
			break
		}
	}
	s := by[cheapest]
	delete(by, cheapest)
	return s
}

// list returns copies of the shapes in selected namespaces.
func (x *shapes) list(wanted func(collection.Namespace) bool) (out []*shape) {
	for i := range x.parts {
		p := &x.parts[i]
		p.mu.Lock()
		for _, s := range p.by {
			if wanted(s.ns) {
				own := *s
				out = append(out, &own)
			}
		}
		p.mu.Unlock()
	}
	return out
}

// forget removes the shapes in selected namespaces.
func (x *shapes) forget(wanted func(collection.Namespace) bool) {
	for i := range x.parts {
		p := &x.parts[i]
		p.mu.Lock()
		for k, s := range p.by {
			if wanted(s.ns) {
				p.keep(s)
				delete(p.by, k)
			}
		}
		p.mu.Unlock()
	}
}

// appendShape appends the text of a filter with ? in place of its values, such as {a: ?, b: {$gt: ?}}.
func appendShape(dst []byte, d bson.Raw, depth int) []byte {
	dst = append(dst, '{')
	n := 0
	for it := d.Iter(); it.Next(); n++ {
		if n > 0 {
			dst = append(dst, ", "...)
		}
		if len(dst) > shapeTextMax+200 {
			return append(dst, "…}"...)
		}
		dst = append(append(dst, it.Name...), ": "...)
		inner, isDoc := it.Value.Doc()
		list, isList := it.Value.Array()
		switch {
		case isDoc && it.Value.Type == bson.TypeDocument && depth < shapeDepthMax && hasOperator(inner):
			dst = appendShape(dst, inner, depth+1)
		case isList && depth < shapeDepthMax && isLogical(it.Name):
			dst = append(dst, '[')
			i := 0
			for v := range list.Values() {
				if i > 0 {
					dst = append(dst, ", "...)
				}
				if i++; i > shapeListMax {
					dst = append(dst, "…"...)
					break
				}
				branch, _ := v.Doc()
				dst = appendShape(dst, branch, depth+1)
			}
			dst = append(dst, ']')
		default:
			dst = append(dst, '?')
		}
	}
	return append(dst, '}')
}

// appendSort appends a sort: {a: 1, b: -1}.
func appendSort(dst []byte, d bson.Raw) []byte {
	dst = append(dst, '{')
	n := 0
	for it := d.Iter(); it.Next(); n++ {
		if n > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, it.Name...), ": "...)
		if dir, ok := it.Value.AsInt64(); ok {
			dst = strconv.AppendInt(dst, dir, 10)
		} else {
			dst = append(dst, '?')
		}
	}
	return append(dst, '}')
}

// hasOperator reports whether the document in a condition has operators, as {$gt: 5} has, or is a value to compare
// with.
func hasOperator(d bson.Raw) bool {
	f, ok := d.First()
	return ok && len(f.Name) > 0 && f.Name[0] == '$'
}

// isLogical reports whether an operator combines filters.
func isLogical(name []byte) bool {
	switch string(name) {
	case "$and", "$or", "$nor":
		return true
	}
	return false
}

// filterFields appends the fields that a filter restricts for every matching document: those in the filter itself and
// in its $and. It stops after shapeListMax fields.
func filterFields(out []filterField, d bson.Raw) []filterField {
	for it := d.Iter(); it.Next() && len(out) < shapeListMax; {
		name := string(it.Name)
		if name == "$and" {
			list, _ := it.Value.Array()
			for v := range list.Values() {
				inner, _ := v.Doc()
				out = filterFields(out, inner)
			}
			continue
		}
		if strings.HasPrefix(name, "$") {
			continue
		}
		out = append(out, filterField{strings.Clone(name), conditionKind(it.Value)})
	}
	return out
}

// conditionKind returns the kind of a condition.
func conditionKind(v bson.Value) string {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument || !hasOperator(d) {
		if v.Type == bson.TypeRegex {
			return "other"
		}
		return "equal"
	}
	f, _ := d.First()
	switch string(f.Name) {
	case "$eq":
		return "equal"
	case "$in":
		return "in"
	case "$gt", "$gte", "$lt", "$lte":
		return "range"
	}
	return "other"
}

// recordShape counts a completed read or write by its shape, and passes it to sampleQuery and recordTraffic. Commands of
// operators are left out: they are no load of the application. It returns the name of the shape, nil if it counted none.
func (s *State) recordShape(c *command.Call, e command.Outcome) (billed *history.Shape) {
	if c.Def.Facts.Has(command.Silent) || c.Op.Unmetered || c.Op.Class.Operator {
		return nil
	}
	err := e.Err
	ns := c.Running.NS
	if c.Def.Namespace == command.SeveralNamespaces {
		ns = command.ManyNamespaces
	}
	if ns.Coll == "" || !c.Def.Costly() {
		return nil
	}
	s.sampleQuery(c, err)
	def, body := c.Def, c.Body
	if first, ok := c.Page.Opened.First(); ok {
		def, body = s.Lookup(string(first.Name)), c.Page.Opened
	} else if d := c.Statement(); d != nil {
		body = d
	}
	r := shapeRun{charge: e.Charge, took: e.Took, loaded: c.Op.Receipt.Sum(ratelimit.DocLoaded), paid: c.Op.Receipt.Sum(ratelimit.PartitionVisit), failed: err != nil,
		refused: e.Refused(), docs: e.RefusedBy, caller: c.Op.Caller, rejected: mongoerr.CodeOf(err) == mongoerr.QueryRejectedBySettings}
	r.runaway, r.ranAway = c.TakeRunaway()
	coll, shards := c.Op.Receipt.Spread()
	if r.visited = shards; shards > 1 {
		if x := s.Cluster.Catalog().ByID(keyspace.CollectionID(coll)); x != nil && x.Map != nil {
			r.partitions = x.Map.Len()
		}
	}
	if c.Page.Opened != nil {
		r.visited, r.more = 0, true
	}
	r.ran, r.priced = ranOf(c, def, &r), len(c.Op.Refusals) > 0
	var warn *shape
	var usual averageRun
	var prices *shapePrices
	c.ConnState.Shape, usual, prices, warn, billed = s.shapes.record(c.ConnState.Shape, ns, def, body, r, c.Start.Add(e.Took))
	refused := refusalsOf(c)
	s.recordTraffic(c, def, body, r, usual, prices, refused)
	s.recordRefusals(c, def, body, prices, refused)
	if warn != nil {
		s.Log.Warn().Str("collection", warn.ns.String()).Str("command", warn.command).Str("filter", warn.filter).
			Int("partitions", warn.partitions).Stringer("ru", warn.fanOutCharge).
			Msg("a query keeps visiting several partitions, for the shard key is not in its filter: see cantle report and cantle advise")
	}
	return billed
}
