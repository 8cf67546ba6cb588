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

// eagerKey marks work that a client's command waits for: it is not kept until clients leave
// request units, and takes none.
type eagerKey struct{}

// ExpireDue deletes what is due in a collection by its TTL indexes, at once: for a client that
// must not meet it. While nothing is due it costs a look at the beginning of each index.
func (r *Runner) ExpireDue(ctx context.Context, coll *catalog.Collection) error {
	if !r.Expires() || r.ReadOnly {
		return nil
	}
	for _, ix := range coll.Indexes {
		if !expiring(ix) {
			continue
		}
		if due, err := r.anyDue(ctx, coll, ix); err != nil || !due {
			if err != nil {
				return err
			}
			continue
		}
		if err := r.expireAtOnce(ctx, coll, ix); err != nil {
			return err
		}
	}
	return nil
}

// expireAtOnce has commands that meet the same documents wait for the first of them.
func (r *Runner) expireAtOnce(ctx context.Context, coll *catalog.Collection, ix *catalog.Index) error {
	select {
	case r.atOnce <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.atOnce }()
	n, err := r.expireIndex(context.WithValue(r.computes(ctx), eagerKey{}, true), coll, ix)
	r.expired.Add(n)
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// anyDue reports an entry of an index whose time is over.
func (r *Runner) anyDue(ctx context.Context, coll *catalog.Collection, ix *catalog.Index) (bool, error) {
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

// expiring reports an index by which documents expire.
func expiring(ix *catalog.Index) bool {
	return ix.HasTTL && ix.State == catalog.IndexReady && ix.Width() == 1
}

// dueBounds are the entries of an index whose time is over: those of documents with a ttl of
// their own, and those as old as the index says.
func dueBounds(ix *catalog.Index, at time.Time) (out []keyspace.Bounds) {
	now := at.UnixMilli()
	if ix.LastWrite {
		out = append(out, ownBounds(ix, now))
	}
	if ix.ExpireAfterSeconds < 0 || ix.ExpireAfterSeconds > (now-math.MinInt32)/1000 {
		return out
	}
	return append(out, expiredBounds(ix, now-ix.ExpireAfterSeconds*1000))
}
