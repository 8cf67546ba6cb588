package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Reshard describes the change of a collection's shard key.
type Reshard struct {
	Collection     keyspace.CollectionID
	Kind           string   // the kind of job in its Progress
	Command        bson.Raw // for Progress and Join; may be nil
	RestartCommand bson.Raw // the command of catalog.Rewriting; if nil, the change is not repeated after a restart
	// Next makes the entry with the new key and shard map from the present one. It returns nil if
	// there is nothing to do. It may add indexes.
	Next func(*catalog.Collection) (*catalog.Collection, error)
	// Log runs inside the catalog change that puts the new entry in place, to append the command to the change log.
	Log func(*catalog.Mutation, *catalog.Collection) error
}

// Phases of a Reshard, in MongoDB's words. Manual: core/sharding-reshard-a-collection.
const (
	phaseCopying  = "cloning"
	phaseApplying = "applying"
	phaseBlocking = "blocking-writes"
)

// Reshard copies a collection to the positions of another shard key, beside the old collection, which is read and
// written meanwhile:
//
//	copy     all documents of one snapshot
//	apply    the writes that the change log has since then, again and again
//	block    writers wait for the last of it
//	replace  the copy takes the place of the old one, in one catalog change
//
// The copy has a number of its own and is recorded for deletion until it is in place, so a crash leaves either the
// old collection or the new one. The caller holds the collection's Lock and no catalog pin. made is nil if there was
// nothing to do.
// Errors: the errors of Next; NamespaceNotFound (26) if the collection was dropped meanwhile, ShardKeyNotFound (61),
// DuplicateKey (11000), ReshardCollectionAborted (341); the errors of the store, the cause of ctx.
func (r *Runner) Reshard(ctx context.Context, job *Reshard) (made *catalog.Collection, err error) {
	ctx, cancel := context.WithCancelCause(r.structure(ctx, job.Collection))
	defer cancel(nil)
	c := &copying{r: r, ctx: ctx, job: job}
	if err := r.Catalog.Change(ctx, c.begin); err != nil || c.to == nil {
		if c.to != nil {
			r.filling.remove(c.to.ID)
		}
		return nil, asClientError(err)
	}
	defer r.filling.remove(c.to.ID)
	c.progress = r.begin(job.Kind, c.from.Namespace, job.Command, r.size(c.from.ID))
	defer r.end(c.progress)
	c.control = r.resharding.begin(c.from.ID, job.Command, cancel)
	wake(r.publishWake)
	finished := false
	defer func() {
		if !finished && err == nil { // the goroutine panics
			err = mongoerr.New(mongoerr.ReshardCollectionAborted, "the resharding operation ended with an internal error")
		}
		r.resharding.end(c.from.ID, c.control, err)
	}()
	defer func() { // also after a panic, because writers wait
		if !finished {
			r.report("reshard", r.thaw(context.WithoutCancel(ctx), c.from.ID))
			r.filling.remove(c.to.ID)
			r.WakeDelete()
		}
	}()
	if err = c.run(); err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		return nil, asClientError(err)
	}
	finished = true
	r.counts.queueScan(scanResult{id: c.to.ID, epoch: c.to.Map.Version().Epoch, at: c.at, shards: c.counts})
	r.Provision(c.to)
	r.WakeDelete()
	return c.to, nil
}

// asClientError maps errDropped to the error for the client.
func asClientError(err error) error {
	if errors.Is(err, errDropped) {
		return mongoerr.New(mongoerr.NamespaceNotFound, "the collection was dropped while it was sharded")
	}
	return err
}

// copying is a running Reshard.
type copying struct {
	r        *Runner
	ctx      context.Context
	job      *Reshard
	progress *Progress
	control  *reshardControl
	from, to *catalog.Collection
	counts   map[shard.ID]tally.Count
	applied  storage.Timestamp // writes to the old collection up to then are in the copy
	at       storage.Timestamp // nothing was written to the copy after it
	waiting  map[string]bool   // places that wait until another document gives up a unique value
}

// begin makes, inside a catalog change, the entry of the copy, and records the copy for deletion, which happens
// unless the Reshard finishes.
func (c *copying) begin(m *catalog.Mutation) error {
	if c.to != nil { // from a try that ended with a conflict
		c.r.filling.remove(c.to.ID)
		c.to = nil
	}
	old := m.Snapshot().ByID(c.job.Collection)
	if old == nil {
		return errDropped
	}
	next, err := c.job.Next(old)
	if next == nil || err != nil {
		return err
	}
	fresh, err := m.NewCollection(c.r.env(c.ctx), old.Namespace, old.Options.Raw)
	if err != nil {
		return err
	}
	c.from = old
	if c.job.RestartCommand != nil && c.r.exclusive() { // with peers, the next holder of the lock undoes the rewriting
		again := &catalog.Rewriting{Command: c.job.RestartCommand, Runs: 1}
		if old.Rewriting != nil {
			again.Runs += old.Rewriting.Runs
		}
		if err := m.Put(old.With(func(d *catalog.Collection) { d.Rewriting = again })); err != nil {
			return err
		}
	}
	c.to = next.With(func(d *catalog.Collection) {
		d.ID, d.Rewriting = fresh.ID, nil
		for i, ix := range d.Indexes {
			clean := *ix
			clean.Multikey = index.MultikeyPaths{}
			d.Indexes[i] = &clean
		}
	})
	c.r.filling.add(c.to.ID)
	return deleteIfMemberDies(m, c.to.ID, c.r.Owners.Member())
}

// Bounds of the rounds in which a Reshard applies new writes to its copy. The last round, for which writers wait,
// follows a round shorter than shortRound, the round in which CommitReshard was called, or round number roundsMax. If
// writers are as fast as the copy, each round takes as long as the previous one or longer: after stalledMax rounds in
// a row none of which was the shortest, more rounds would only make the last one longer.
const (
	shortRound = 100 * time.Millisecond
	roundsMax  = 100
	stalledMax = 5
)

// run does the whole work.
func (c *copying) run() error {
	c.counts, c.waiting = map[shard.ID]tally.Count{}, map[string]bool{}
	c.progress.enter(phaseCopying)
	c.r.Step(stepBegun)
	if err := c.copy(); err != nil {
		return err
	}
	c.r.Step(stepCopied)
	c.progress.enter(phaseApplying)
	var shortest time.Duration
	for rounds, stalled := 0, 0; rounds < roundsMax && stalled < stalledMax; rounds++ {
		began := time.Now()
		if err := c.catchUp(false); err != nil {
			return err
		}
		took := time.Since(began)
		if took < shortRound || c.control.blockNow.Load() {
			break
		}
		if stalled++; rounds == 0 || took < shortest {
			shortest, stalled = took, 0
		}
	}
	c.r.Step(stepApplied)
	c.progress.enter(phaseBlocking)
	if err := c.freeze(); err != nil {
		return err
	}
	c.r.Step(stepBlocked)
	if err := c.catchUp(true); err != nil {
		return err
	}
	c.at = c.r.Store.Latest()
	c.setCounts()
	c.r.Step(stepReady)
	if !c.control.commit() {
		return context.Cause(c.ctx)
	}
	filled := c.to
	return c.r.Catalog.Change(c.ctx, func(m *catalog.Mutation) error {
		c.to = filled
		return c.replace(m)
	})
}

// freeze makes new writers of the old collection wait, and waits for those that are active. The change log then
// contains all their writes.
func (c *copying) freeze() error {
	err := c.r.Catalog.Change(c.ctx, func(m *catalog.Mutation) error {
		now := m.Snapshot().ByID(c.from.ID)
		if now == nil {
			return errDropped
		}
		return m.Put(now.With(func(d *catalog.Collection) { d.Frozen = true }))
	})
	if err != nil {
		return err
	}
	if err := c.r.Catalog.Drain(c.ctx, c.from.ID); err != nil {
		return err
	}
	return c.r.Store.Sync(c.ctx)
}

// thaw lets writers continue on a collection whose rewriting has ended without success. Unless the server is
// stopping, the rewriting is not repeated after the next start.
func (r *Runner) thaw(ctx context.Context, id keyspace.CollectionID) error {
	return r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		now := m.Snapshot().ByID(id)
		if now == nil || !now.Frozen && now.Rewriting == nil {
			return nil
		}
		return m.Put(now.With(func(d *catalog.Collection) {
			d.Frozen = false
			if again := d.Rewriting; again != nil && r.stopping.Load() {
				d.Rewriting = &catalog.Rewriting{Command: again.Command}
			} else {
				d.Rewriting = nil
			}
		}))
	})
}

// setCounts sets the counts of the copy's shards before the copy becomes visible.
func (c *copying) setCounts() {
	counts := c.r.Tally.Of(c.to.ID)
	for _, d := range c.to.Map.Shards() {
		counts.Shard(d.ID).Set(c.counts[d.ID])
		c.counts[d.ID] = counts.Shard(d.ID).Get()
	}
}

// replace puts the copy in the place of the old collection, with the changes that other commands
// have made to the old entry meanwhile.
func (c *copying) replace(m *catalog.Mutation) error {
	now := m.Snapshot().ByID(c.from.ID)
	if now == nil {
		return errDropped
	}
	before := map[keyspace.IndexID]bool{}
	for _, ix := range c.from.Indexes {
		before[ix.ID] = true
	}
	var kept []*catalog.Index
	for _, ix := range c.to.Indexes {
		same := now.Index(ix.Name)
		switch {
		case same != nil && same.ID == ix.ID:
			kept = append(kept, &catalog.Index{Spec: same.Spec, ID: ix.ID, State: ix.State, Multikey: ix.Multikey})
		case before[ix.ID]: // dropped meanwhile
			if err := Delete(m, c.to.ID, ix.ID); err != nil {
				return err
			}
		default:
			kept = append(kept, ix)
		}
	}
	c.to = now.With(func(d *catalog.Collection) {
		d.ID, d.Frozen, d.Rewriting, d.Key, d.Map, d.Indexes = c.to.ID, false, nil, c.to.Key, c.to.Map, kept
		d.Shares, d.Zones = nil, c.to.Zones
		d.NextIndex = max(d.NextIndex, c.to.NextIndex)
	})
	m.Drop(now)
	for _, gone := range []struct {
		id keyspace.CollectionID
		ix keyspace.IndexID
	}{{now.ID, 0}, {c.to.ID, keyspace.OriginIndex}} {
		if err := Delete(m, gone.id, gone.ix); err != nil {
			return err
		}
	}
	if err := CancelDelete(m, c.to.ID); err != nil {
		return err
	}
	if err := m.Put(c.to); err != nil {
		return err
	}
	if c.job.Log != nil {
		return c.job.Log(m, c.to)
	}
	return nil
}
