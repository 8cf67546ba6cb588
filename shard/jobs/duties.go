package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Over a shared store, each loop is a job with one owner. So is work on the structure of a
// collection, as long as its Lock is held; see shard/duty.
const (
	dutyCollect = "collect"
	dutyCounts  = "counts" // checkpoint and truncate
	dutyDelete  = "delete"
	dutyExpire  = "expire"
	dutyResume  = "resume"
)

// dutyEvery is the interval at which a server tries to become the owner of a loop.
const dutyEvery = time.Second

// collectEvery is the interval at which overwritten values that no member reads any more are removed from a
// shared store.
const collectEvery = time.Minute

// collectLoop removes overwritten values as long as this server owns the job.
func (r *Runner) collectLoop(ctx context.Context) {
	shared := storage.AsShared(r.Store)
	for last := time.Now(); sleep(ctx, dutyEvery, nil); {
		if r.Turn(ctx, dutyCollect) && time.Since(last) >= collectEvery {
			last = time.Now()
			r.report(dutyCollect, shared.Collect(ctx))
		}
	}
}

// structureDuty is the name of the job of working on the structure of a collection.
func structureDuty(id keyspace.CollectionID) string { return fmt.Sprintf("%s%d", structurePrefix, id) }

const structurePrefix = "collection."

// onDuty returns the context of a job that is guarded by the ownership of name.
func (r *Runner) onDuty(ctx context.Context, name string) context.Context {
	if r.alone() {
		return ctx
	}
	return storage.WithGuard(ctx, func() error { return r.Duties.Guard(name) })
}

// Turn reports whether this server owns a loop, after trying to become its owner.
func (r *Runner) Turn(ctx context.Context, name string) bool {
	ok, err := r.Duties.Take(ctx, name, nil)
	r.report(name, err)
	return ok && err == nil
}

// structure returns the context of a job on the structure of a collection whose Lock is held.
func (r *Runner) structure(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.Locked(r.computes(ctx), id)
}

// alone reports whether this process has the store alone. With peers, the next holder of the Lock
// of a collection finishes what a dead server began.
func (r *Runner) alone() bool { return r.Duties == nil }

// Locked returns the context of work that relies on the Lock of a collection.
func (r *Runner) Locked(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.onDuty(ctx, structureDuty(id))
}

// lockEverywhere waits until no peer changes the structure of the collection. unlock releases the
// local lock.
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
			if err := r.thaw(r.Locked(ctx, id), id); err != nil { // a server that froze it has lost the ownership
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

// lockEvery is the interval at which a waiter for a peer polls.
const lockEvery = 20 * time.Millisecond
