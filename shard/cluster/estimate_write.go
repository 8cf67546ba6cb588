package cluster

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// trial makes the changes of an estimated write in a transaction that does not commit, to measure their cost.
type trial struct {
	s      *Stream
	m      *Modify
	txn    storage.Txn
	filter match.Node
}

// try begins the trial of a write. The caller closes txn.
func (s *Stream) try(env *mql.Env, m *Modify) (*trial, error) {
	filter, err := match.Parse(env, m.Find.Filter)
	if err != nil {
		return nil, err
	}
	t := &trial{s: s, m: m, filter: plan.BindText(s.Coll, filter)}
	t.txn, err = s.c.store.Begin(env.Context(), storage.TxnOptions{})
	return t, err
}

// target returns the write target of the trial on a shard.
func (t *trial) target(d *shard.Descriptor) *write.Target {
	return &write.Target{Coll: t.s.Coll, Shard: d, Txn: t.txn, Silent: true, Bypass: true,
		Multikey: func(*catalog.Index, index.MultikeyPaths) error { return nil }}
}

// change applies the estimated write to one row. If that fails with an error for the client, the change is undone and
// change returns nil: the failed write costs what env's meter has counted so far.
func (t *trial) change(env *mql.Env, d *shard.Descriptor, row *exec.Row) error {
	save := t.txn.Savepoint()
	err := t.apply(env, d, row)
	if known := (*mongoerr.Error)(nil); errors.As(err, &known) {
		t.txn.RollbackTo(save)
		return nil
	}
	return err
}

func (t *trial) apply(env *mql.Env, d *shard.Descriptor, row *exec.Row) error {
	old := row.Doc.Clone()
	if t.m.Update == nil {
		return t.target(d).Delete(env, old, row.Hash)
	}
	doc, _, res, err := applyUpdate(&Op{Env: env}, bson.NewBuilder(nil), t.m.Update, t.filter, old, &expr.Scratch{})
	if err != nil || !res.Modified {
		return err
	}
	h := row.Hash
	if !t.s.Coll.Options.OwnOrder() {
		if h, err = t.s.Coll.Position(doc); err != nil {
			return err
		}
	}
	if _, moved := t.s.Coll.Key.Changed(old, doc); moved || h != row.Hash {
		if err := t.target(d).Delete(env, old, row.Hash); err != nil {
			return err
		}
		// A real move charges the insert to the shard of the new position; an estimate of one shard charges it here.
		return t.target(d).Insert(env, doc, h)
	}
	return t.target(d).Update(env, old, doc, h, changelog.Update, nil)
}

// upsert adds to the meter the charge of inserting the document that an upsert without a match would create; nothing for
// a capped or time-series collection.
func (t *trial) upsert(env *mql.Env, to *ratelimit.Meter) error {
	if t.s.Coll.Options.OwnOrder() {
		return nil
	}
	var s expr.Scratch
	defer s.Close()
	doc, err := t.m.Update.Upsert(env, t.filter, &s, func() bson.Value {
		id := bson.NewObjectID()
		return bson.Value{Type: bson.TypeObjectID, Data: id[:]}
	})
	if err == nil {
		doc, err = write.Prepare(doc, t.s.c.store)
	}
	if err == nil {
		env.Meter = to
		h, e := t.s.Coll.Position(doc)
		if err = e; err == nil {
			err = t.target(t.s.Coll.Home(doc, h)).Insert(env, doc, h)
		}
	}
	if known := (*mongoerr.Error)(nil); errors.As(err, &known) {
		return nil
	}
	return err
}
