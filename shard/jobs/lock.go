package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// structureLocks lets one job at a time change the structure of a collection.
type structureLocks struct {
	mu     sync.Mutex
	locked map[keyspace.CollectionID]chan struct{} // closed when free again
}

// take takes the lock of a collection's structure, or returns a channel that is closed when the lock is free.
func (x *structureLocks) take(id keyspace.CollectionID) (busy chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if busy = x.locked[id]; busy != nil {
		return busy
	}
	if x.locked == nil {
		x.locked = map[keyspace.CollectionID]chan struct{}{}
	}
	x.locked[id] = make(chan struct{})
	return nil
}

func (x *structureLocks) release(id keyspace.CollectionID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.locked[id])
	delete(x.locked, id)
}

// Lock waits until no other job, here or at a peer, changes the structure of the collection. The caller holds no
// catalog pin, and calls unlock at the end. The wait for index builds, splits and merges is not bounded; the wait for a
// Reshard, which may take hours, ends after LockWait. Errors: ConflictingOperationInProgress (117), the cause of ctx;
// with peers also errors of the store.
func (r *Runner) Lock(ctx context.Context, id keyspace.CollectionID) (unlock func(), err error) {
	x := &r.structureLocks
	began := time.Now()
	for {
		busy := x.take(id)
		if busy == nil {
			return r.lockAcrossServers(ctx, id, func() { x.release(id) })
		}
		look := time.NewTimer(r.LockWait)
		select {
		case <-busy:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return nil, context.Cause(ctx)
		}
		look.Stop()
		if r.Resharding(id) && time.Since(began) >= r.LockWait {
			return nil, errResharding()
		}
	}
}

// errResharding is the error of a wait for a Reshard that exceeds LockWait.
func errResharding() error {
	return mongoerr.New(mongoerr.ConflictingOperationInProgress,
		"the collection is being rewritten for another shard key; try again when that is done (currentOp shows how far it is)")
}

// LockNamed takes the Lock of the collection that has a name when the wait is over, and returns its entry: the job
// that held the Lock may have put another collection in its place.
// Errors: NamespaceNotFound (26) also for a view; the errors of Lock.
func (r *Runner) LockNamed(ctx context.Context, ns collection.Namespace) (*catalog.Collection, func(), error) {
	for {
		coll := r.Catalog.Peek().Collection(ns)
		if coll == nil || coll.Map == nil {
			return nil, nil, mongoerr.NoNamespace(ns.String())
		}
		unlock, err := r.Lock(ctx, coll.ID)
		if err != nil {
			return nil, nil, err
		}
		if now := r.Catalog.Peek().Collection(ns); now != nil && now.ID == coll.ID {
			return now, unlock, nil
		}
		unlock()
	}
}
