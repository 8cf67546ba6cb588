package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Resume finishes what a crash left behind: shards that have not settled, indexes in state Building, and rewritings.
// It also rebuilds indexes whose entries have another version. An index that turns out not to be unique is dropped,
// and so are staged indexes, whose command has ended.
func (r *Runner) Resume(ctx context.Context) error {
	ctx = r.withSlot(ctx)
	var errs []error
	for _, c := range r.Catalog.Peek().Collections("") {
		if c.IsView() {
			continue
		}
		if err := r.complete(ctx, c.ID); err != nil && !errors.Is(err, errDropped) {
			errs = append(errs, err)
		}
	}
	for _, c := range r.Catalog.Peek().Collections("") {
		if err := r.repeatRewriting(ctx, c.ID); err != nil && !errors.Is(err, errDropped) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// resumeExclusive repeats Resume, with pauses, in a process that has the store exclusively; it ends when everything
// is finished, or if the store is not writable.
func (r *Runner) resumeExclusive(ctx context.Context) {
	for pause := resumePause; ; pause = min(2*pause, resumePauseMax) {
		err := r.Resume(ctx)
		r.report("resume", err)
		if err == nil || errors.Is(err, storage.ErrNotWritable) || !sleep(ctx, pause, nil) {
			return
		}
	}
}

// The pauses between two attempts.
const (
	resumePause    = 10 * time.Second
	resumePauseMax = 10 * time.Minute
)

// resumeOne is Resume for one collection.
func (r *Runner) resumeOne(ctx context.Context, id keyspace.CollectionID) error {
	if err := r.complete(ctx, id); err != nil {
		return err
	}
	return r.repeatRewriting(ctx, id)
}

// runsMax bounds how often a rewriting begins: a rewriting that ends the process each time is given
// up.
const runsMax = 3

// repeatRewriting repeats a rewriting that the end of a process interrupted. It takes the collection's
// Lock itself.
func (r *Runner) repeatRewriting(ctx context.Context, id keyspace.CollectionID) error {
	c := r.Catalog.Peek().ByID(id)
	if c == nil || c.Rewriting == nil || r.Resharding(id) {
		return nil
	}
	var err error
	switch {
	case c.Rewriting.Runs >= runsMax:
		err = fmt.Errorf("%s of %s is given up after %d runs that the end of the server interrupted", c.Rewriting.Name(), c.Namespace, runsMax)
	case r.Rewrite != nil:
		err = r.Rewrite(ctx, c)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if known := (*mongoerr.Error)(nil); errors.As(err, &known) && (known.Code == mongoerr.ConflictingOperationInProgress || known.Code == mongoerr.ReshardCollectionInProgress) {
		return err // another command rewrites it, here or at a peer
	}
	return errors.Join(err, r.forget(ctx, id, c.Rewriting))
}

// forget removes a rewriting from the entry of its collection, if the repeated command ended before it began
// to copy. Only the holder of the Lock may let writers continue, because a peer may have blocked them.
func (r *Runner) forget(ctx context.Context, id keyspace.CollectionID, was *catalog.Rewriting) error {
	unlock, err := r.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if c := r.Catalog.Peek().ByID(id); c == nil || c.Rewriting == nil || !bytes.Equal(c.Rewriting.Command, was.Command) {
		return nil
	}
	return r.thaw(r.Locked(ctx, id), id)
}

// complete finishes the splits, merges and index builds of a collection that a crash interrupted, drops its staged
// indexes, and rebuilds its outdated ones. It takes the collection's Lock.
func (r *Runner) complete(ctx context.Context, id keyspace.CollectionID) error {
	unlock, err := r.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	ctx = r.asOwner(ctx, structureJob(id))
	p := &Progress{}
	if err := r.settleShards(ctx, id, p); err != nil {
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
	b, staged := &Build{Collection: id, Namespace: c.Namespace, Resumed: true}, &Build{Collection: id}
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
