package plans

import (
	"cmp"
	"container/list"
	"math/big"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// queryStats holds what $queryStats shows: the sums of executions by their key. At its size, it forgets the entries that were not
// used for the longest time. Safe for concurrent use.
type queryStats struct {
	max func() int64 // bytes

	mu      sync.Mutex
	by      map[string]*list.Element // of *statsEntry, by the hash of the key
	recent  list.List                // the most recently used first
	bytes   int64
	evicted int64
	tooLong int64 // executions whose key is too long
}

// Sizes of queryStats.
const (
	statsEntryBytes = 1 << 10  // memory of an entry without its key
	statsKeyMax     = 64 << 10 // bytes of a key, above which an execution is not recorded
)

// statsEntry holds the sums of the executions with one key.
type statsEntry struct {
	statsKey
	runs                                           int64
	last                                           time.Duration
	total, first, working                          statsSum // in microseconds, working in milliseconds
	returned, keys, docs                           statsSum
	sorted, disk, trial, cached                    int64 // executions
	inserted, matched, upserted, modified, removed statsSum
	seen, latest                                   time.Time
	runaways                                       [ratelimit.RunawayActions]int64
	rejected                                       int64
}

// statsSum adds up one measurement.
type statsSum struct {
	sum, max, min int64
	hi, lo        uint64 // the sum of squares
	n             int64
}

// add adds a measurement.
func (s *statsSum) add(v int64) {
	v = max(0, v)
	s.sum += v
	s.max = max(s.max, v)
	if s.min = min(s.min, v); s.n == 0 {
		s.min = v
	}
	s.n++
	hi, lo := bits.Mul64(uint64(v), uint64(v))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += hi + carry
}

// append appends the sums under a name.
func (s *statsSum) append(b *bson.Builder, name string) {
	squares := new(big.Int).SetUint64(s.hi)
	squares.Lsh(squares, 64).Or(squares, new(big.Int).SetUint64(s.lo))
	b.BeginDoc(name)
	b.Int64("sum", s.sum)
	b.Int64("max", s.max)
	b.Int64("min", s.min)
	if d, ok := decimal.Parse(squares.String()); ok { // rounded to 34 digits
		var arena bson.Arena
		b.Value("sumOfSquares", arena.Decimal(d))
	}
	b.End()
}

// entry returns the entry of a key, which becomes the most recently used; nil if the key is too long. The caller holds mu.
func (q *queryStats) entry(k *statsKey, now time.Time) *statsEntry {
	if len(k.doc) > statsKeyMax {
		q.tooLong++
		return nil
	}
	if at := q.by[k.hash]; at != nil {
		q.recent.MoveToFront(at)
		return at.Value.(*statsEntry)
	}
	if q.by == nil {
		q.by = map[string]*list.Element{}
	}
	e := &statsEntry{statsKey: *k, seen: now}
	q.by[k.hash] = q.recent.PushFront(e)
	q.bytes += e.size()
	for most := q.max(); q.bytes > most && q.recent.Len() > 1; {
		old := q.recent.Remove(q.recent.Back()).(*statsEntry)
		delete(q.by, old.hash)
		q.bytes -= old.size()
		q.evicted++
	}
	return e
}

// size returns the memory of an entry, in bytes.
func (e *statsEntry) size() int64 {
	return int64(len(e.doc)+len(e.hash)+len(e.shapeHash)) + statsEntryBytes
}

// record adds an execution to the entry of its key.
func (q *queryStats) record(k *statsKey, w *statsWork) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entry(k, w.last)
	if e == nil {
		return
	}
	e.runs++
	e.last, e.latest = w.total, w.last
	e.total.add(w.total.Microseconds())
	e.first.add(w.first.Microseconds())
	e.working.add(w.working.Milliseconds())
	e.returned.add(w.returned)
	e.keys.add(w.keys)
	e.docs.add(w.docs)
	for _, x := range [...]struct {
		is bool
		n  *int64
	}{{w.sorted, &e.sorted}, {w.disk, &e.disk}, {w.trial, &e.trial}, {w.cached, &e.cached}} {
		if x.is {
			*x.n++
		}
	}
	if e.write {
		e.inserted.add(w.inserted)
		e.matched.add(w.matched)
		e.upserted.add(w.upserted)
		e.modified.add(w.modified)
		e.removed.add(w.removed)
	}
}

// note counts a command that reached its cap, with the action there, or that query settings refused.
func (q *queryStats) note(k *statsKey, action ratelimit.RunawayAction, ranAway bool, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entry(k, now)
	if e == nil {
		return
	}
	e.latest = now
	if ranAway {
		e.runaways[action]++
	} else {
		e.rejected++
	}
}

// list returns copies of all entries, in the order of their keys' hashes.
func (q *queryStats) list() []statsEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]statsEntry, 0, q.recent.Len())
	for at := q.recent.Front(); at != nil; at = at.Next() {
		out = append(out, *at.Value.(*statsEntry))
	}
	slices.SortFunc(out, func(a, b statsEntry) int { return cmp.Compare(a.hash, b.hash) })
	return out
}

// appendMetrics appends the field metrics, since 9.0 in groups.
func (e *statsEntry) appendMetrics(b *bson.Builder, grouped bool) {
	group := func(name string, fields func()) {
		if grouped {
			b.BeginDoc(name)
			defer b.End()
		}
		fields()
	}
	b.BeginDoc("metrics")
	b.Int64("lastExecutionMicros", e.last.Microseconds())
	b.Int64("execCount", e.runs)
	e.total.append(b, "totalExecMicros")
	e.working.append(b, "workingTimeMillis")
	group("cursor", func() { e.first.append(b, "firstResponseExecMicros") })
	group("queryExec", func() {
		e.returned.append(b, "docsReturned")
		e.keys.append(b, "keysExamined")
		e.docs.append(b, "docsExamined")
	})
	group("queryPlanner", func() {
		for _, x := range [...]struct {
			name string
			n    int64
		}{{"hasSortStage", e.sorted}, {"usedDisk", e.disk}, {"fromMultiPlanner", e.trial}, {"fromPlanCache", e.cached}} {
			b.BeginDoc(x.name)
			b.Int64("true", x.n)
			b.Int64("false", e.runs-x.n)
			b.End()
		}
	})
	if e.write {
		group("writes", func() {
			e.matched.append(b, "nMatched")
			e.upserted.append(b, "nUpserted")
			e.modified.append(b, "nModified")
			e.removed.append(b, "nDeleted")
			e.inserted.append(b, "nInserted")
		})
	}
	command.AppendRunawayCounts(b, e.runaways, e.rejected)
	b.DateTime("firstSeenTimestamp", e.seen.UnixMilli())
	b.DateTime("latestSeenTimestamp", e.latest.UnixMilli())
	b.End()
}

// AppendStats appends the section metrics.queryStats of serverStatus.
func (s *State) AppendStats(b *bson.Builder) {
	q := &s.stats
	q.mu.Lock()
	defer q.mu.Unlock()
	b.BeginDoc("queryStats")
	b.Int64("numEvicted", q.evicted)
	b.Int64("numHmacApplicationErrors", 0)
	b.Int64("numQueryStatsStoreWriteErrors", q.tooLong)
	b.Int64("numRateLimitedRequests", s.Sampling.Passed.Load())
	b.Int64("queryStatsStoreSizeEstimateBytes", q.bytes)
	b.End()
}
