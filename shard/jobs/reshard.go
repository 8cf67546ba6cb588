package jobs

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Reshard is a collection that gets another shard key.
type Reshard struct {
	Collection keyspace.CollectionID
	Command    bson.Raw // for Progress; may be nil
	// Next makes the entry with the new key and map from the present one, or nil
	// when there is nothing to do.
	Next func(*catalog.Collection) (*catalog.Collection, error)
	// Log runs inside the change that puts the new entry in place.
	Log func(*catalog.Mutation, *catalog.Collection) error
}

// Reshard copies a collection to the positions of another shard key. The copy
// has a number of its own and takes the old one's place in one catalog change,
// so a crash leaves either; writers wait meanwhile, readers do not notice. The
// caller holds the collection's Lock and no catalog pin. made is nil when there
// was nothing to do.
// Errors: those of Next; ShardKeyNotFound (61), DuplicateKey (11000).
func (r *Runner) Reshard(ctx context.Context, job *Reshard) (made *catalog.Collection, err error) {
	c := &copying{r: r, ctx: ctx, job: job}
	if err := r.Catalog.Change(ctx, c.freeze); err != nil || c.to == nil {
		return nil, gone(err)
	}
	defer r.filling.remove(c.to.ID)
	p := r.begin("Shard Collection", c.from.Namespace, job.Command, r.size(c.from.ID))
	defer r.end(p)
	if err = c.copy(p); err == nil {
		c.tell()
		err = r.Catalog.Change(ctx, c.replace)
	}
	if err != nil {
		c.thaw()
		r.filling.remove(c.to.ID)
		r.DeleteSoon()
		return nil, gone(err)
	}
	r.counts.learn(known{id: c.to.ID, epoch: c.to.Map.Version().Epoch, at: c.at, shards: c.counts})
	r.Provision(c.to)
	r.DeleteSoon()
	return c.to, nil
}

// gone is the error a client gets for errGone.
func gone(err error) error {
	if errors.Is(err, errGone) {
		return mongoerr.New(mongoerr.NamespaceNotFound, "the collection was dropped while it was sharded")
	}
	return err
}

// copying is a Reshard under way.
type copying struct {
	r        *Runner
	ctx      context.Context
	job      *Reshard
	from, to *catalog.Collection
	counts   map[shard.ID]tally.Count
	at       storage.Timestamp // nothing was written to the copy after it
}

// freeze publishes that writers wait, and notes the copy for deletion, which is
// what happens to it unless it is finished.
func (c *copying) freeze(m *catalog.Mutation) error {
	old := m.Snapshot().ByID(c.job.Collection)
	if old == nil {
		return errGone
	}
	next, err := c.job.Next(old)
	if next == nil || err != nil {
		return err
	}
	fresh, err := m.NewCollection(c.r.env(c.ctx), old.Namespace, old.Options.Raw)
	if err != nil {
		return err
	}
	c.from = old.With(func(d *catalog.Collection) { d.Frozen = true })
	c.to = next.With(func(d *catalog.Collection) {
		d.ID, d.Frozen = fresh.ID, false
		for i, ix := range d.Indexes {
			clean := *ix
			clean.Multikey = index.MultikeyPaths{}
			d.Indexes[i] = &clean
		}
	})
	c.r.filling.add(c.to.ID)
	if err := Delete(m, c.to.ID, 0); err != nil {
		return err
	}
	return m.Put(c.from)
}

// thaw lets writers go on with the old collection.
func (c *copying) thaw() {
	err := c.r.Catalog.Change(context.WithoutCancel(c.ctx), func(m *catalog.Mutation) error {
		if now := m.Snapshot().ByID(c.from.ID); now != nil {
			return m.Put(now.With(func(d *catalog.Collection) { d.Frozen = false }))
		}
		return nil
	})
	c.r.report("shard collection", err)
}

// copy inserts all documents into the copy. Nobody else writes either.
func (c *copying) copy(p *Progress) error {
	if err := c.r.Catalog.Drain(c.ctx); err != nil {
		return err
	}
	c.counts = map[shard.ID]tally.Count{}
	all := keyspace.RecordRange(c.from.ID)
	var rows rows
	var meter ratelimit.Meter
	for from := all.Start; ; {
		if err := c.r.admit(c.ctx, c.from.ID); err != nil {
			return err
		}
		if err := c.batch(&rows, &meter, storage.Range{Start: from, End: all.End}); err != nil {
			return err
		}
		if len(rows.list) == 0 {
			c.at = c.r.Store.Latest()
			return nil
		}
		p.done.Add(int64(len(rows.list)))
		from = append(append([]byte(nil), rows.list[len(rows.list)-1].key...), 0)
	}
}

// tell sets the counts of the copy's shards before anybody can see them.
func (c *copying) tell() {
	counts := c.r.Tally.Of(c.to.ID)
	for _, d := range c.to.Map.Shards() {
		counts.Shard(d.ID).Set(c.counts[d.ID])
		c.counts[d.ID] = counts.Shard(d.ID).Get()
	}
}

// batch copies some documents in one transaction, without change-log records:
// for everybody else nothing changes.
func (c *copying) batch(rows *rows, meter *ratelimit.Meter, within storage.Range) error {
	txn, err := c.r.Store.Begin(c.ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer txn.Close()
	b := &batch{r: c.r, env: c.r.env(c.ctx), coll: c.to, txn: txn}
	meter.Reset(uint64(c.from.ID), nil)
	b.env.Meter = meter
	if err := rows.read(b, within); err != nil {
		return err
	}
	targets := map[shard.ID]*write.Target{}
	for i := range rows.list {
		doc := rows.list[i].doc
		h, err := c.to.Position(doc)
		if err != nil {
			return err
		}
		d := c.to.Home(doc, h)
		t := targets[d.ID]
		if t == nil {
			t = &write.Target{Coll: c.to, Shard: d, Txn: txn, Bypass: true, Silent: true, Multikey: c.markMultikey}
			targets[d.ID] = t
		}
		if err := t.Insert(b.env, doc, h); err != nil {
			return err
		}
	}
	if _, err := txn.Commit(c.ctx, storage.Buffered); err != nil {
		return err
	}
	for id, t := range targets {
		c.counts[id] = c.counts[id].Add(tally.Count{Docs: t.Docs, Bytes: t.Bytes})
	}
	c.r.Budgets.Charge(c.r.Now(), background, meter)
	return nil
}

// markMultikey keeps the mark in the copy's entry, which nobody reads yet.
func (c *copying) markMultikey(ix *catalog.Index, paths index.MultikeyPaths) error {
	for _, x := range c.to.Indexes {
		if x.ID == ix.ID {
			marked := *x
			marked.Multikey = x.Multikey.Union(paths)
			c.to = c.to.WithIndex(&marked)
		}
	}
	return nil
}

// replace puts the copy in the place of the old collection, with what other
// changes have done to that one meanwhile.
func (c *copying) replace(m *catalog.Mutation) error {
	now := m.Snapshot().ByID(c.from.ID)
	if now == nil {
		return errGone
	}
	var kept []*catalog.Index
	for _, ix := range c.to.Indexes {
		if same := now.Index(ix.Name); same != nil && same.ID == ix.ID {
			kept = append(kept, &catalog.Index{Spec: same.Spec, ID: ix.ID, State: ix.State, Multikey: ix.Multikey})
		} else if err := Delete(m, c.to.ID, ix.ID); err != nil {
			return err
		}
	}
	c.to = now.With(func(d *catalog.Collection) {
		d.ID, d.Frozen, d.Key, d.Map, d.Indexes = c.to.ID, false, c.to.Key, c.to.Map, kept
	})
	m.Drop(now)
	if err := Delete(m, now.ID, 0); err != nil {
		return err
	}
	if err := Keep(m, c.to.ID); err != nil {
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
