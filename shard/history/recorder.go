package history

import (
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// Config holds the parts of a Recorder.
type Config struct {
	Catalog *catalog.Catalog
	Budgets *ratelimit.Budgets
	// Store keeps the history across restarts; nil = the history ends with the process.
	Store storage.Store
	// Now is the clock of the budgets.
	Now func() time.Time
	// Shapes visits the work of query shapes since its last call; nil = shapes are not recorded.
	Shapes TakeShapes
	// Connections counts open connections; nil = unknown.
	Connections func() int
	// Failed is called with errors of storing the history; nil ignores them.
	Failed func(error)
}

// Recorder records the history. Safe for concurrent use.
type Recorder struct {
	Config
	ended counters

	mu         sync.Mutex
	open       int64 // the second that is being filled; 0 before the first update
	rings      [levelCount]ring
	rows       rows
	seen       map[ratelimit.ShardID]seen
	census     census
	events     []Event                     // the oldest first
	refused    map[ratelimit.ShardID]int64 // since the last TakeRefused; nil = none
	deadServer storage.MemberID            // the dead server to which this history belongs; nothing is added to it
	names      shapeNames
	since      int64 // the second from which on the shapes are recorded
	kept       int64 // number of the newest column of five minutes that was stored, or failed to be

	// stored is the number of the newest column of five minutes that is stored under this server's ID, with the
	// columns of ten seconds of its time; 0 = none.
	stored int64
}

// seen holds the counters of a partition at the last update, to compute its work since then.
type seen struct {
	ratelimit.Activity
	second int64 // of the request units below
	ru     int64 // in that second
}

// New makes a Recorder with an empty history.
func New(cfg Config) *Recorder {
	if cfg.Connections == nil {
		cfg.Connections = func() int { return 0 }
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	return &Recorder{Config: cfg, names: newShapeNames(), seen: map[ratelimit.ShardID]seen{}, rows: rows{rowOf: map[ratelimit.ShardID]int{}, shared: map[ratelimit.ShardID]bool{}}}
}

// Update reads the counters and brings the history up to now. Work since the update before counts for the second of
// that earlier update.
func (r *Recorder) Update() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
}

func (r *Recorder) update() {
	if r.deadServer != (storage.MemberID{}) {
		return
	}
	second := r.Now().Unix()
	if r.open == 0 {
		r.begin(second)
	}
	r.recount()
	r.collect()
	r.collectShapes()
	for second > r.open {
		r.closeSecond()
		if r.open++; second-r.open > Span(Seconds) { // nothing happened for longer than the seconds reach back
			r.skipGap(second - 1)
		}
	}
}

// begin starts the rings of all levels at a second, unless they have started.
func (r *Recorder) begin(second int64) {
	r.open, r.since = second, second
	for i := range r.rings {
		if r.rings[i].columns == nil {
			r.rings[i].init(i, second/levels[i].step-1)
		}
	}
}

// recount updates the census if the catalog has changed.
func (r *Recorder) recount() {
	s, first := r.Catalog.Peek(), r.census.of == nil
	if r.census.of == s {
		return
	}
	changes := r.census.take(s)
	if first { // partitions of the first census are not new
		changes.events = nil
		for at := range r.rows.rowOf {
			if p := r.census.parts[at]; p == nil {
				r.rows.endStay(at, r.open)
			}
		}
	}
	for i := range changes.events {
		changes.events[i].At = r.open
	}
	r.events = append(r.events, changes.events...)
	if n := len(r.events) - eventsMax; n > 0 {
		r.events = append([]Event(nil), r.events[n:]...)
	}
	for _, at := range changes.removed {
		r.rows.endStay(at, r.open)
		delete(r.seen, at)
	}
	for _, p := range changes.parts {
		i, ok := r.rows.rowOf[p.Place]
		if !ok || r.rows.shared[p.Place] {
			continue
		}
		if s := r.rows.list[i].now(); s != nil && *s.part != *p { // the partition was renamed, or its range has changed
			r.rows.settle(i, p, r.open)
			r.rows.rowOf[p.Place] = i
		}
	}
}

// collect adds the work of all partitions since the last update to the open second, in every level.
func (r *Recorder) collect() {
	sum := sums{}
	r.Budgets.EachActivity(func(at ratelimit.ShardID, a ratelimit.Activity) {
		part := r.census.parts[at]
		if part == nil {
			return
		}
		sum.provisioned += a.Limit.Float()
		was := r.seen[at]
		w := work{ru: int64(a.Charge - was.Charge), bytes: a.Bytes - was.Bytes, reads: a.Reads - was.Reads, writes: a.Writes - was.Writes,
			refused: a.Refused - was.Refused, fails: a.Failed - was.Failed, ended: a.Ended - was.Ended, micros: (a.Took - was.Took).Microseconds(),
			refusedLeast: int64(a.RefusedLeast - was.RefusedLeast), refusedMost: int64(a.RefusedMost - was.RefusedMost), retried: int64(a.Retried - was.Retried)}
		now := seen{Activity: a, second: r.open, ru: w.ru}
		if was.second == r.open {
			now.ru += was.ru
		}
		r.seen[at] = now
		if w.refused > 0 {
			if r.refused == nil {
				r.refused = map[ratelimit.ShardID]int64{}
			}
			r.refused[at] += w.refused
		}
		if a.Limit > 0 {
			sum.busiest = max(sum.busiest, 100*float64(now.ru)/float64(a.Limit))
		}
		if w == (work{}) {
			return
		}
		i := r.rows.of(part, r.open)
		for l := range r.rings {
			r.rings[l].add(i, &w)
		}
		sum.ru += w.ru
		sum.bytes += w.bytes
	})
	r.ended.take(&sum)
	sum.connections = float64(r.Connections())
	for l := range r.rings {
		r.rings[l].sum.add(&sum)
	}
}

// TakeRefused returns the number of requests that each partition has refused for lack of request units since the last
// call, as of the last update; partitions without refusals are left out.
func (r *Recorder) TakeRefused() map[ratelimit.ShardID]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.refused
	r.refused = nil
	return list
}

// closeSecond ends the second that is being filled, and in every level the column that ends with it.
func (r *Recorder) closeSecond() {
	for l := range r.rings {
		if step := levels[l].step; (r.open+1)%step == 0 {
			r.closeColumn(&r.rings[l], r.open/step)
		}
	}
	if (r.open+1)%idleSeconds == 0 {
		r.rows.reclaim()
	}
}

// closeColumn closes the column n of a level.
func (r *Recorder) closeColumn(ring *ring, n int64) {
	ring.close(n)
	ring.closeShapes(n, r.othersOfShape)
}

// skipGap skips a time in which nothing was recorded: it closes the columns that end in that time, and leaves those
// inside empty.
func (r *Recorder) skipGap(to int64) {
	for l := range r.rings {
		ring, last := &r.rings[l], to/levels[l].step-1
		if n := r.open / ring.step; n <= last {
			r.closeColumn(ring, n)
			ring.skipTo(last)
		}
	}
	r.open = to
}
