package jobs

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// eagerKey marks the context of the deletions of ExpireDue, which precede a client's command.
type eagerKey struct{}

// eager reports whether the work is a deletion of ExpireDue, for which a client's command waits. Such work neither
// waits for request units nor uses any.
func eager(ctx context.Context) bool { return ctx.Value(eagerKey{}) != nil }

// ExpireDue deletes the documents of a collection that have expired by its TTL indexes, before a command reads or
// writes it. If none has, it only looks for one entry in each partition of these indexes. While the TTL deleter is
// off, or with ReadOnly, it does nothing.
func (r *Runner) ExpireDue(ctx context.Context, coll *catalog.Collection) error {
	if !r.Expires() || r.ReadOnly {
		return nil
	}
	for _, ix := range coll.Indexes {
		if !expiring(ix) {
			continue
		}
		due, err := r.hasExpired(ctx, coll, ix)
		if due {
			err = r.expireSerially(ctx, coll, ix)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expireSerially deletes the documents that a TTL index has expired, for one command at a time. Concurrent commands
// wait, and then find the documents deleted.
func (r *Runner) expireSerially(ctx context.Context, coll *catalog.Collection, ix *catalog.Index) error {
	select {
	case r.expireLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.expireLock }()
	n, err := r.expireIndex(context.WithValue(r.withSlot(ctx), eagerKey{}, true), coll, ix)
	r.expired.Add(n)
	if errors.Is(err, errDropped) {
		return nil
	}
	return err
}

// hasExpired reports whether a TTL index has an entry of an expired document.
func (r *Runner) hasExpired(ctx context.Context, coll *catalog.Collection, ix *catalog.Index) (bool, error) {
	reader, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return false, err
	}
	defer reader.Close()
	for _, bounds := range dueBounds(ix, r.Now()) {
		for _, d := range coll.Map.Shards() {
			for _, p := range d.Partitions {
				it, err := reader.Iter(ctx, keyspace.EntryRange(coll.ID, ix.ID, p, bounds), storage.IterOptions{FetchRows: 1})
				if err != nil {
					return false, err
				}
				due := it.Next()
				err = it.Err()
				it.Close()
				if due || err != nil {
					return due, err
				}
			}
		}
	}
	return false, nil
}

// expiring reports whether documents expire by an index.
func expiring(ix *catalog.Index) bool {
	return ix.HasTTL && ix.State == catalog.IndexReady && ix.Width() == 1
}

// dueBounds returns the bounds of the entries of expired documents in a TTL index: those of documents whose own ttl
// has ended, and those older than the expiry of the index.
func dueBounds(ix *catalog.Index, at time.Time) (out []keyspace.Bounds) {
	now := at.UnixMilli()
	if ix.LastWrite {
		out = append(out, ownTTLBounds(ix, now))
	}
	if upTo, ok := expiredUpTo(ix.ExpireAfterSeconds, now); ok {
		out = append(out, expiredBounds(ix, upTo))
	}
	return out
}

// expiredUpTo returns the newest date that has expired at the time now if dates expire after the given seconds; dates
// are in milliseconds since 1970. ok is false for negative seconds, and for so many that upTo would be before 7
// December 1969.
func expiredUpTo(seconds, now int64) (upTo int64, ok bool) {
	return now - seconds*1000, seconds >= 0 && seconds <= (now-math.MinInt32)/1000
}
