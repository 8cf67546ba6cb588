package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Where several processes have the store, each loop is a duty that one of them has, and so is
// work at the structure of a collection, for as long as its Lock is held; see shard/duty.
const (
	dutyCollect = "collect"
	dutyCounts  = "counts" // checkpoint and truncate
	dutyDelete  = "delete"
	dutyExpire  = "expire"
	dutyResume  = "resume"
)

// dutyEvery is how often a process looks whether it is to take a loop over.
const dutyEvery = time.Second

// collectEvery is how often what nobody reads any more is removed from a store that several have.
const collectEvery = time.Minute

// collectLoop removes it, as long as this process has the duty.
func (r *Runner) collectLoop(ctx context.Context) {
	shared := storage.AsShared(r.Store)
	for last := time.Now(); sleep(ctx, dutyEvery, nil); {
		if r.Turn(ctx, dutyCollect) && time.Since(last) >= collectEvery {
			last = time.Now()
			r.report(dutyCollect, shared.Collect(ctx))
		}
	}
}

// structureDuty is the duty of who works at the structure of a collection.
func structureDuty(id keyspace.CollectionID) string { return fmt.Sprintf("%s%d", structurePrefix, id) }

const structurePrefix = "collection."

// onDuty is the context of a job that this process does as long as it has a duty.
func (r *Runner) onDuty(ctx context.Context, name string) context.Context {
	if r.alone() {
		return ctx
	}
	return storage.WithGuard(ctx, func() error { return r.Duties.Guard(name) })
}

// Turn reports that a loop is to do its work now: the duty is this process's.
func (r *Runner) Turn(ctx context.Context, name string) bool {
	ok, err := r.Duties.Take(ctx, name, nil)
	r.report(name, err)
	return ok && err == nil
}

// structure is the context of a job at the structure of a collection, whose Lock is held.
func (r *Runner) structure(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.Locked(r.computes(ctx), id)
}

// alone reports that no other process has the store. Of several, the next that takes the Lock of a
// collection ends what a dead one began.
func (r *Runner) alone() bool { return r.Duties == nil }

// Locked is the context of work that relies on the Lock of a collection.
func (r *Runner) Locked(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.onDuty(ctx, structureDuty(id))
}

// lockEverywhere waits until no other process changes the structure of the collection, as Lock.
func (r *Runner) lockEverywhere(ctx context.Context, id keyspace.CollectionID, unlock func()) (func(), error) {
	if r.alone() {
		return unlock, nil
	}
	name, began := structureDuty(id), time.Now()
	for {
		ok, err := r.Duties.Take(ctx, name, nil)
		switch {
		case err == nil && ok:
			release := func() {
				free, cancel := context.WithTimeout(context.Background(), r.LockWait)
				defer cancel()
				r.report(name, r.Duties.Give(free, name))
				unlock()
			}
			if err := r.thaw(r.Locked(ctx, id), id); err != nil { // whoever froze it had the duty, and has lost it
				release()
				return nil, err
			}
			return release, nil
		case err == nil && time.Since(began) >= r.LockWait && r.elsewhere.resharding(id):
			err = errResharding()
		case err == nil && !sleep(ctx, lockEvery, nil):
			err = context.Cause(ctx)
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
}

// lockEvery is how often one who waits for another process looks.
const lockEvery = 20 * time.Millisecond
