package jobs

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Resume finishes what a crash left: shards that have not settled and indexes
// that were being built; and makes those again whose entries are of another version. An index that turns out not to be unique is dropped, and so is
// one that was staged for a change that has not been made.
func (r *Runner) Resume(ctx context.Context) error {
	ctx = r.computes(ctx)
	var errs []error
	for _, c := range r.Catalog.Peek().Collections("") {
		if c.IsView() {
			continue
		}
		if err := r.resumeOne(ctx, c.ID); err != nil && !errors.Is(err, errGone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) resumeOne(ctx context.Context, id keyspace.CollectionID) error {
	unlock, err := r.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	ctx = r.onDuty(ctx, structureDuty(id))
	p := &Progress{}
	if err := r.rest(ctx, id, p); err != nil {
		return err
	}
	c := r.Catalog.Peek().ByID(id)
	if c == nil {
		return nil
	}
	renewed, err := r.renew(ctx, c)
	if err != nil {
		return err
	}
	if c = r.Catalog.Peek().ByID(id); c == nil {
		return nil
	}
	b, staged := &Build{Collection: id, Namespace: c.Namespace}, &Build{Collection: id}
	for _, ix := range c.Indexes {
		switch {
		case ix.Staged:
			staged.Indexes = append(staged.Indexes, ix.ID)
		case ix.State == catalog.IndexBuilding:
			b.Indexes = append(b.Indexes, ix.ID)
		}
	}
	if len(staged.Indexes) > 0 {
		if err := r.abandon(ctx, staged); err != nil {
			return err
		}
	}
	if len(b.Indexes) == 0 {
		return nil
	}
	err = r.BuildIndexes(ctx, b)
	if c := r.Catalog.Peek().ByID(id); c != nil && !r.ended(ctx, err) {
		r.renewed(renewed, err)
	}
	return err
}
