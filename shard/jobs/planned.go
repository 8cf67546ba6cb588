package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/planned"
	"github.com/cantledb/cantle/storage/keyspace"
)

// plannedInterval is the interval at which planned changes of throughput are checked.
const plannedInterval = time.Second

// plannedLoop makes the planned changes of throughput at their times, as long as this server owns that job. Without any
// it does not try to become its owner.
func (r *Runner) plannedLoop(ctx context.Context) {
	for sleep(ctx, plannedInterval, nil) {
		if r.planned.any(r.Catalog.Peek()) && r.OwnsLoop(ctx, jobPlanned) {
			r.report(jobPlanned, r.ApplyPlanned(r.asOwner(ctx, jobPlanned)))
		}
	}
}

// ApplyPlanned makes all planned changes of throughput that are due. Several servers may call it at the same time: each
// change is made once.
// Errors: the errors of Catalog.Change, of the first change that fails.
func (r *Runner) ApplyPlanned(ctx context.Context) error {
	if r.ReadOnly {
		return nil
	}
	snap, now := r.Catalog.Peek(), r.Now()
	for _, d := range snap.Databases() {
		if d.Planned == nil || now.Before(planned.Next(d.Planned)) {
			continue
		}
		changed := false
		err := r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
			changed = false
			if was := m.Snapshot().Database(d.Name); was != nil && was.Planned != nil {
				is := r.ReplannedDatabase(m.Snapshot(), was, was.Throughput.RU, was.Planned)
				if changed = is.Throughput.RU != was.Throughput.RU; is.Planned != was.Planned {
					m.PutDatabase(is)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.ProvisionDatabase(d.Name)
		r.planned.count(changed)
	}
	for _, id := range r.planned.due(snap, now) {
		var is *catalog.Collection
		changed := false
		err := r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
			is, changed = nil, false
			was := m.Snapshot().ByID(id)
			if was == nil || was.Planned == nil {
				return nil
			}
			is = r.Replanned(was, was.Throughput.RU, was.Planned)
			if changed = is.Throughput.RU != was.Throughput.RU; is.Planned == was.Planned { // another server has made it
				return nil
			}
			return m.Put(is)
		})
		if err != nil {
			return err
		}
		if is != nil {
			r.Provision(is)
			r.planned.count(changed)
		}
	}
	return nil
}

// Replanned returns a copy of a catalog entry with planned changes and the RU/s that they have now. rus are the RU/s
// before. If the RU/s change, the parts that a redistribution gave to shards are dropped.
func (r *Runner) Replanned(c *catalog.Collection, rus int64, p *catalog.Planned) *catalog.Collection {
	return c.With(func(c *catalog.Collection) {
		rus, c.Planned = planned.Advance(rus, p, r.Now())
		if rus != c.Throughput.RU {
			c.Throughput, c.Shares = withRU(c.Throughput, rus, c.Sharded(), r.Load(c)), nil
		}
	})
}

// ReplannedDatabase is Replanned for a database.
func (r *Runner) ReplannedDatabase(snap *catalog.Snapshot, d *catalog.Database, rus int64, p *catalog.Planned) *catalog.Database {
	t := d.Throughput
	rus, p = planned.Advance(rus, p, r.Now())
	if rus != t.RU {
		t = withRU(t, rus, true, r.SharedLoad(snap, d))
	}
	return d.With(t, p)
}

// withRU returns a throughput with other RU/s, or the nearest that are allowed.
func withRU(t catalog.Throughput, rus int64, sharded bool, l ratelimit.Load) catalog.Throughput {
	t.RU = rus
	t.RU = ratelimit.Allowed(Provisioned(t), sharded, l).RUs
	t.HighestRU = max(t.HighestRU, t.RU)
	return t
}

// PlannedFor returns the planned changes of the RU/s that a collection uses: of its own, or else of those of its database. nil
// is none.
func PlannedFor(snap *catalog.Snapshot, c *catalog.Collection) *catalog.Planned {
	if c.Throughput.Mode != catalog.ThroughputNone {
		return c.Planned
	}
	if d := snap.Database(c.Namespace.DB); d != nil {
		return d.Planned
	}
	return nil
}

// PlannedChanges returns how often this server has changed RU/s as planned; 0 for nil.
func (r *Runner) PlannedChanges() int64 {
	if r == nil {
		return 0
	}
	r.planned.mu.Lock()
	defer r.planned.mu.Unlock()
	return r.planned.changes
}

// Load returns the values on which the lowest throughput of a collection depends.
func (r *Runner) Load(c *catalog.Collection) ratelimit.Load {
	return ratelimit.Load{StoredGB: r.storedGB(c), HighestRUs: c.Throughput.HighestRU}
}

// SharedLoad returns the values on which the limits of a database's shared throughput depend: its highest RU/s, the
// number of the collections that share it, and their size.
func (r *Runner) SharedLoad(snap *catalog.Snapshot, d *catalog.Database) ratelimit.Load {
	sharing := Sharing(snap, d.Name)
	l := ratelimit.Load{HighestRUs: d.Throughput.HighestRU, Collections: len(sharing)}
	for _, c := range sharing {
		l.StoredGB += r.storedGB(c)
	}
	return l
}

// Sharing returns the collections that share a database's throughput.
func Sharing(snap *catalog.Snapshot, db string) (out []*catalog.Collection) {
	for _, c := range snap.Collections(db) {
		if !c.IsView() && c.Throughput.Mode == catalog.ThroughputNone {
			out = append(out, c)
		}
	}
	return out
}

// storedGB returns the size of a collection's documents, rounded up.
func (r *Runner) storedGB(c *catalog.Collection) int64 {
	return (max(0, r.Tally.Of(c.ID).Total(c.Map).Bytes) + 1<<30 - 1) >> 30
}

// plannedEntries maintains, from pass to pass, the collections that have planned changes, each with the time of the next
// one: of ten thousand collections few have any.
type plannedEntries struct {
	mu      sync.Mutex
	of      *catalog.Snapshot // nil before the first
	next    map[keyspace.CollectionID]time.Time
	changes int64
}

// any reports whether a collection or database has planned changes at a version of the catalog.
func (e *plannedEntries) any(s *catalog.Snapshot) bool {
	for _, d := range s.Databases() {
		if d.Planned != nil {
			return true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.follow(s)
	return len(e.next) > 0
}

// due returns the collections whose planned changes are due at a time.
func (e *plannedEntries) due(s *catalog.Snapshot, now time.Time) (out []keyspace.CollectionID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.follow(s)
	for id, at := range e.next {
		if !now.Before(at) {
			out = append(out, id)
		}
	}
	return out
}

// follow updates next to a version of the catalog. The caller holds mu.
func (e *plannedEntries) follow(s *catalog.Snapshot) {
	if e.of == s {
		return
	}
	if e.of == nil {
		e.of, e.next = &catalog.Snapshot{}, map[keyspace.CollectionID]time.Time{}
	}
	s.Changes(e.of, func(was, is *catalog.Collection) {
		if was != nil {
			delete(e.next, was.ID)
		}
		if is != nil && is.Planned != nil {
			e.next[is.ID] = planned.Next(is.Planned)
		}
	})
	e.of = s
}

// count counts a planned change that has changed the RU/s.
func (e *plannedEntries) count(changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if changed {
		e.changes++
	}
}
