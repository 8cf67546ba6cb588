package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Over a shared store, each loop but publishLoop belongs to a job with one owner. So does work on the structure of a
// collection, as long as its Lock is held; see shard/peers.
const (
	jobCollect = "collect"
	jobCounts  = "counts" // checkpoint and truncate
	jobDelete  = "delete"
	jobExpire  = "expire"
	jobPlanned = "planned throughput"
	jobResume  = "resume"
)

// ownRetryInterval is the interval at which a server tries to become the owner of a loop.
const ownRetryInterval = time.Second

// collectEvery is the interval at which overwritten values that no member reads any more are removed from a
// shared store.
const collectEvery = time.Minute

// collectLoop removes overwritten values, which no member reads any more, from a shared store, as long as this server
// owns that job.
func (r *Runner) collectLoop(ctx context.Context) {
	members := storage.MembershipOf(r.Store)
	for last := time.Now(); sleep(ctx, ownRetryInterval, nil); {
		if r.OwnsLoop(ctx, jobCollect) && time.Since(last) >= collectEvery {
			last = time.Now()
			r.report(jobCollect, members.Collect(ctx))
		}
	}
}

// structureJob returns the name of the job whose owner may change the structure of a collection: its shards and
// indexes.
func structureJob(id keyspace.CollectionID) string { return fmt.Sprintf("%s%d", structurePrefix, id) }

const structurePrefix = "collection."

// asOwner returns a context whose guard fails once this server is no longer the owner of the job name: the job's
// transactions check the guard after they have begun.
func (r *Runner) asOwner(ctx context.Context, name string) context.Context {
	return storage.WithGuard(ctx, func() error { return r.Owners.Guard(name) })
}

// OwnsLoop reports whether this server owns the job of a loop, after trying to become its owner; false after an error,
// which it reports. With ReadOnly it owns none.
func (r *Runner) OwnsLoop(ctx context.Context, name string) bool {
	if r.ReadOnly {
		return false
	}
	ok, err := r.Owners.TryAcquire(ctx, name, nil)
	r.report(name, err)
	return ok && err == nil
}

// structure returns the context of a job on the structure of a collection whose Lock is held: as Locked, with a lane
// for processor slots.
func (r *Runner) structure(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.Locked(r.withSlot(ctx), id)
}

// exclusive reports whether this process has the store exclusively. What it began and a crash interrupted is then
// finished after its next start, before or beside its clients. With peers, the owner of jobResume or the next holder
// of the Lock of a collection finishes or undoes it.
func (r *Runner) exclusive() bool { return storage.Exclusive(r.Store) }

// Locked returns the context of work that relies on the Lock of a collection: the guard of the context fails once
// this server has lost the Lock to a peer.
func (r *Runner) Locked(ctx context.Context, id keyspace.CollectionID) context.Context {
	return r.asOwner(ctx, structureJob(id))
}

// lockAcrossServers waits until no peer changes the structure of the collection, and becomes the owner of that. If
// writers are still blocked by a server that has lost the ownership, it lets them continue. The returned function
// releases the ownership and calls unlock, which releases the lock in this process; after an error unlock has been
// called. Without peers it only returns unlock.
func (r *Runner) lockAcrossServers(ctx context.Context, id keyspace.CollectionID, unlock func()) (func(), error) {
	if r.exclusive() {
		return unlock, nil // no server froze the collection and lost the ownership
	}
	name, began := structureJob(id), time.Now()
	for {
		ok, err := r.Owners.TryAcquire(ctx, name, nil)
		switch {
		case err == nil && ok:
			release := func() {
				free, cancel := context.WithTimeout(context.Background(), r.LockWait)
				defer cancel()
				r.report(name, r.Owners.Release(free, name))
				unlock()
			}
			if err := r.thaw(r.Locked(ctx, id), id); err != nil { // a server that froze it has lost the ownership
				release()
				return nil, err
			}
			return release, nil
		case err == nil && time.Since(began) >= r.LockWait && r.peerJobs.resharding(id):
			err = errResharding()
		case err == nil && !sleep(ctx, lockPollInterval, nil):
			err = context.Cause(ctx)
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
}

// lockPollInterval is the interval at which a server that waits for a peer (for its Lock, or the end of its Reshard)
// polls.
const lockPollInterval = 20 * time.Millisecond
