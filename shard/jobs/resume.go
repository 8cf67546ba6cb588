package jobs

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Resume finishes what a crash left: shards that have not settled and indexes
// that were being built. An index that turns out not to be unique is dropped.
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
	b := &Build{Collection: id, Namespace: c.Namespace}
	for _, ix := range c.Indexes {
		if ix.State == catalog.IndexBuilding {
			b.Indexes = append(b.Indexes, ix.ID)
		}
	}
	if len(b.Indexes) == 0 {
		return nil
	}
	return r.BuildIndexes(ctx, b)
}
