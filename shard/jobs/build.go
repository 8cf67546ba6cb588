package jobs

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Build describes an index build for BuildIndexes. The caller has published its indexes in state Building.
type Build struct {
	Collection keyspace.CollectionID
	Namespace  collection.Namespace
	Indexes    []keyspace.IndexID
	Command    bson.Raw              // for Progress; may be nil
	Cap        *ratelimit.RequestCap // of the command; nil for none
	// Finish, if set, runs inside the catalog change that makes the indexes ready. It gets the catalog entry with the
	// ready indexes and returns the entry to store.
	Finish func(m *catalog.Mutation, c *catalog.Collection) (*catalog.Collection, error)
	// Resumed keeps the indexes in state Building after an error of the store, because they existed before; the next
	// Resume continues the build.
	Resumed bool
}

// BuildIndexes fills indexes that were published as Building, and makes them ready. On an error, or if ctx ends, it
// drops them; with Resumed, only on an error of the documents. If the server stops, they stay in state Building. The
// caller holds the collection's Lock and no catalog pin.
// Errors: DuplicateKey (11000); *ratelimit.CapReached; NamespaceNotFound (26) and IndexNotFound (27) if they were dropped meanwhile; the
// errors of index keys.
func (r *Runner) BuildIndexes(ctx context.Context, b *Build) error {
	ctx = r.structure(ctx, b.Collection)
	p := r.begin("Index Build", b.Namespace, b.Command, r.size(b.Collection))
	defer r.end(p)
	r.separate(r.Catalog.Peek().ByID(b.Collection))
	err := r.fill(ctx, b, p)
	if err == nil {
		err = r.ready(ctx, b)
	}
	if err == nil || r.ended(ctx, err) {
		return err // the build continues at the next start
	}
	if errors.Is(err, errDropped) {
		return mongoerr.NoNamespace(b.Namespace.String())
	}
	if known := (*mongoerr.Error)(nil); b.Resumed && !errors.As(err, &known) {
		return err // not an error of a document: the indexes existed before, and the next Resume continues
	}
	if undo := r.abandon(context.WithoutCancel(ctx), b); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}

// ended reports whether a job's error comes from the shutdown of the server: the job then continues at the next
// start.
func (r *Runner) ended(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, storage.ErrClosed) || errors.Is(context.Cause(ctx), ErrStopped))
}

// size returns the number of documents of a collection, for Progress; 0 if it was dropped.
func (r *Runner) size(id keyspace.CollectionID) int64 {
	coll := r.Catalog.Peek().ByID(id)
	if coll == nil || coll.Map == nil {
		return 0
	}
	return r.Tally.Of(id).Total(coll.Map).Docs
}

// fill adds the index entries of all documents to the indexes of a build, in batches. Before, it waits until every
// writer uses the catalog entry with these indexes: the entries of documents written from then on come from their
// writers.
func (r *Runner) fill(ctx context.Context, b *Build, p *Progress) error {
	if err := r.Catalog.Drain(ctx, b.Collection); err != nil {
		return err
	}
	all := keyspace.RecordRange(b.Collection)
	var rows rows
	var meter ratelimit.Meter
	for from := all.Start; ; {
		err := r.commit(ctx, b.Collection, &meter, storage.TxnOptions{}, func(t *batch) error {
			ixs, err := building(t.coll, b.Indexes)
			if err != nil {
				return err
			}
			t.env.Meter.SetCap(b.Cap)
			if err := rows.read(t, storage.Range{Start: from, End: all.End}); err != nil {
				return err
			}
			if err := t.fetchBuild(ixs, rows.list); err != nil {
				return err
			}
			for i := range rows.list {
				if err := t.build(ixs, &rows.list[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if reached := (*ratelimit.CapReached)(nil); errors.As(err, &reached) {
			r.Budgets.Charge(r.Now(), background, &meter) // the work of the batch that is not committed
		}
		if err != nil {
			return err
		}
		if len(rows.list) == 0 {
			return nil
		}
		p.done.Add(int64(len(rows.list)))
		from = append(append([]byte(nil), rows.list[len(rows.list)-1].key...), 0)
	}
}

// building returns the indexes with the given numbers from the current catalog entry. Errors: IndexNotFound (27) if
// one was dropped while it was built.
func building(c *catalog.Collection, ids []keyspace.IndexID) (out []*catalog.Index, err error) {
	for _, id := range ids {
		found := false
		for _, ix := range c.Indexes {
			if ix.ID == id {
				out, found = append(out, ix), true
			}
		}
		if !found {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "the index was dropped while it was built on %s", c.Namespace)
		}
	}
	return out, nil
}

// build adds the entries of one document to the indexes of a build. It locks the record in the batch's transaction,
// so that every concurrent change of the document conflicts with the batch.
func (b *batch) build(ixs []*catalog.Index, row *row) error {
	if err := b.env.Tick(); err != nil {
		return err
	}
	if err := b.txn.Lock(b.env.Context(), row.key); err != nil {
		return err
	}
	d := b.coll.Map.Find(row.hash, row.id)
	t := b.target(d)
	for _, ix := range ixs {
		weight, err := t.Build(b.env, ix, row.doc, row.hash)
		if err != nil {
			return err
		}
		b.env.Meter.Terms(int(d.ID), weight, 0)
	}
	return b.env.Meter.CheckCap()
}

// ready publishes the indexes for readers.
func (r *Runner) ready(ctx context.Context, b *Build) error {
	err := r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		c := m.Snapshot().ByID(b.Collection)
		if c == nil {
			return errDropped
		}
		ixs, err := building(c, b.Indexes)
		if err != nil {
			return err
		}
		for _, ix := range ixs {
			done := *ix
			done.State, done.Staged = catalog.IndexReady, false
			c = c.WithIndex(&done)
		}
		if b.Finish != nil {
			if c, err = b.Finish(m, c); err != nil {
				return err
			}
		}
		return m.Put(c)
	})
	r.WakeDelete() // indexes that Finish dropped
	return err
}

// abandon drops the indexes of a failed build.
func (r *Runner) abandon(ctx context.Context, b *Build) error {
	err := r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		c := m.Snapshot().ByID(b.Collection)
		if c == nil {
			return nil
		}
		for _, id := range b.Indexes {
			c = c.WithoutIndex(id)
			if err := Delete(m, c.ID, id); err != nil {
				return err
			}
		}
		return m.Put(c)
	})
	r.WakeDelete()
	return err
}

// DropStaged removes, inside a catalog change, the staged indexes of a collection, which a command builds to show
// them together with its other changes. The caller holds the collection's Lock, so the command that staged them has
// ended with its server.
func DropStaged(m *catalog.Mutation, c *catalog.Collection) (*catalog.Collection, error) {
	for _, ix := range c.Indexes {
		if !ix.Staged {
			continue
		}
		c = c.WithoutIndex(ix.ID)
		if err := Delete(m, c.ID, ix.ID); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// rows holds copies of some documents, in key order.
type rows struct {
	list []row
	mem  []byte
}

// row is one document and its position.
type row struct {
	key  []byte
	hash keyspace.Hash
	id   []byte // aliases key
	doc  bson.Raw
}

// read copies the first documents of a range: at most b.rows, and about batchBytes.
func (s *rows) read(b *batch, within storage.Range) error {
	it, err := b.txn.Iter(b.env.Context(), within, storage.IterOptions{FetchRows: b.rows})
	if err != nil {
		return err
	}
	defer it.Close()
	return s.take(it, b.rows)
}

// take copies the next documents of an iterator: at most most documents, and about batchBytes.
func (s *rows) take(it storage.Iterator, most int) error {
	s.list, s.mem = s.list[:0], s.mem[:0]
	type place struct{ key, doc int }
	var places []place
	for len(places) < most && len(s.mem) < batchBytes && it.Next() {
		s.mem = append(s.mem, it.Key()...)
		key := len(s.mem)
		s.mem = append(s.mem, it.Value()...)
		places = append(places, place{key, len(s.mem)})
	}
	if err := it.Err(); err != nil {
		return err
	}
	at := 0
	for _, p := range places {
		r := row{key: s.mem[at:p.key:p.key], doc: bson.Raw(s.mem[p.key:p.doc:p.doc])}
		_, h, id, ok := keyspace.SplitRecord(r.key)
		if !ok {
			return errors.Join(storage.ErrCorruption, errors.New(keyspace.Pretty(r.key)))
		}
		r.hash, r.id = h, id
		s.list = append(s.list, r)
		at = p.doc
	}
	return nil
}
