package cluster

import (
	"errors"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// view is the basis of one read: a catalog snapshot and a snapshot of the store
// that agree.
type view struct {
	snap       *catalog.Snapshot // not pinned
	reader     storage.Reader
	layoutAt   storage.Timestamp // the reader can be read only by shards and indexes that exist since this time or earlier
	rewound    *rewoundState     // the state behind reader, nil for a state of the store
	ownsReader bool              // the view closes the reader
}

func (v *view) close() {
	if v.ownsReader && v.reader != nil {
		v.reader.Close()
	}
	v.reader = nil
}

// readsNewest reports whether the view of a command has the state that was the newest when it was opened, and not a past
// one or that of a transaction.
func (v *view) readsNewest(o *Op) bool {
	return o.Txn == nil && o.At == 0 && v.rewound == nil && v.ownsReader
}

// source returns the source of a read of a collection at a view. counts are exec.Source.Counts.
func (c *Cluster) source(o *Op, v *view, coll *catalog.Collection, counts map[shard.ID]int64) exec.Source {
	src := exec.Source{Coll: coll, Reader: v.reader, Counts: counts}
	if v.readsNewest(o) {
		src.Frontier = c.frontier(coll)
	}
	return src
}

// latest returns the catalog that a command uses: its transaction's, or the newest.
func (c *Cluster) latest(o *Op) *catalog.Snapshot {
	if o.Txn != nil {
		return o.Txn.Catalog
	}
	return c.catalog.Peek()
}

// view opens the read view of a command: a snapshot of the store with the catalog. If one of the collections nss
// changed in between, it begins again; in a transaction it is that of the transaction. It pins nothing: the catalog
// entries that a reader uses stay valid at its snapshot.
func (c *Cluster) view(o *Op, nss ...collection.Namespace) (*view, error) {
	if o.Txn != nil {
		c.touched(o.Txn)
		v := &view{snap: o.Txn.Catalog, reader: o.Txn.Store.Snapshot(), layoutAt: o.Txn.layoutAt}
		nss, err := agg.Below(v.snap, nss)
		if err != nil {
			return nil, err
		}
		now := c.catalog.Peek()
		for _, ns := range nss {
			// The keys of a collection that was dropped, or of shards that were merged, since the transaction began
			// may be deleted already.
			then := v.snap.Collection(ns)
			if then != nil && !then.IsView() {
				if err := o.confineTxn(then); err != nil {
					return nil, err
				}
				if x := now.ByID(then.ID); !o.Txn.HasCreated(then) && (x == nil || x.Map != then.Map) {
					return nil, snapshotUnavailable(ns)
				}
			}
			if err := c.rewindInTxn(o, ns, then); err != nil {
				return nil, err
			}
		}
		if err := v.visible(nss); err != nil {
			return nil, err
		}
		return v, v.snap.CheckUUID(o.Expected, o.Env.Release)
	}
	for {
		snap := c.catalog.Peek()
		nss, err := agg.Below(snap, nss)
		if err != nil {
			return nil, err
		}
		if err := c.ExpireDue(o, nss...); err != nil {
			return nil, err
		}
		var v *view
		if o.At == 0 {
			v, err = c.newest(o, snap)
		} else {
			v, err = c.viewAt(o, snap, nss)
		}
		if err != nil {
			return nil, err
		}
		now := c.catalog.Peek()
		same := true
		if now != snap {
			for _, ns := range nss {
				same = same && now.Collection(ns) == snap.Collection(ns)
			}
		}
		if same {
			if err = v.visible(nss); err == nil {
				err = c.rewindView(o, v, nss)
			}
			if err == nil {
				err = v.snap.CheckUUID(o.Expected, o.Env.Release)
			}
			if err != nil {
				v.close()
				return nil, err
			}
			return v, nil
		}
		v.close()
	}
}

// newest returns the view of the newest state.
func (c *Cluster) newest(o *Op, snap *catalog.Snapshot) (*view, error) {
	r, err := c.store.Snapshot(o.Env.Context(), 0)
	if err != nil {
		return nil, err
	}
	o.ReadTime = max(o.ReadTime, r.ReadTimestamp())
	return &view{snap: snap, reader: r, layoutAt: r.ReadTimestamp(), ownsReader: true}, nil
}

// viewAt returns the view of the state at Op.At: a kept state if shards and indexes of the
// collections have not changed since, otherwise one made from the change log.
func (c *Cluster) viewAt(o *Op, snap *catalog.Snapshot, nss []collection.Namespace) (*view, error) {
	newer := storage.Timestamp(0)
	kept := c.states.catalogAt(o.At)
	if kept == nil && o.At == c.store.Latest() {
		kept = snap
	}
	as := kept != nil
	for _, ns := range nss {
		now := snap.Collection(ns)
		if now != nil {
			newer = max(newer, now.VisibleFrom)
		}
		as = as && (now == kept.Collection(ns) || now != nil && kept.Collection(ns) != nil && now.ID == kept.Collection(ns).ID && now.VisibleFrom <= o.At)
	}
	if as {
		r, err := c.store.Snapshot(o.Env.Context(), o.At)
		if err == nil {
			return &view{snap: snap, reader: r, layoutAt: o.At, ownsReader: true}, nil
		}
		if !errors.Is(err, storage.ErrSnapshotTooOld) {
			return nil, err
		}
	}
	p, err := c.rewoundAt(o.Env.Context(), o.At, newer)
	if err != nil {
		return nil, err
	}
	return &view{snap: snap, reader: p.state.Reader(func() { c.states.release(p) }), layoutAt: p.state.Base(), rewound: p, ownsReader: true}, nil
}

// rewindView prepares a read view in the past: it undoes the later writes to the collections that are read, and
// removes from the view those that did not exist then.
func (c *Cluster) rewindView(o *Op, v *view, nss []collection.Namespace) error {
	if v.rewound == nil {
		return nil
	}
	for _, ns := range nss {
		coll := v.snap.Collection(ns)
		if coll == nil {
			coll = v.snap.Series(ns)
		}
		if coll != nil {
			ns = coll.Namespace
		}
		missing, err := checkSameCollection(ns, coll, v.rewound.names[ns])
		if err != nil {
			return err
		}
		switch {
		case missing:
			v.snap = v.snap.Without(coll)
		case coll != nil && !coll.IsView():
			if err := c.rewindCollection(o, v.rewound.state, coll); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible rejects a read view whose state is older than the last change of a collection's shards or indexes: by the
// present catalog entry, readers would look for index entries that were not there yet.
// Errors: SnapshotUnavailable (246).
func (v *view) visible(nss []collection.Namespace) error {
	for _, ns := range nss {
		if c := v.snap.Collection(ns); c != nil && c.VisibleFrom > v.layoutAt {
			return snapshotUnavailable(ns)
		}
	}
	return nil
}
