package jobs

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// recordOverhead is approximately the number of bytes that a record takes beside the document: the key with the _id,
// its copy in the index entry, and the overhead of the engine.
const recordOverhead = 40

// Compaction describes the compaction of the files of one collection.
type Compaction struct {
	Collection *catalog.Collection
	Namespace  collection.Namespace
	Command    bson.Raw // for Progress
	// MinFree is the minimum of bytes to free; if the estimate is lower, nothing is done.
	MinFree int64
	// DryRun only computes the estimate.
	DryRun bool
}

// Compact frees the space that deleted and overwritten values of a collection still take in the files. It returns the
// number of bytes freed, 0 if the estimate is below MinFree; in a dry run, the estimate. A store that frees space by
// itself, such as that of a cluster, has nothing to do.
// Errors: the errors of the store; context.Cause(ctx), after which the completed part stays done.
func (r *Runner) Compact(ctx context.Context, c *Compaction) (freed int64, err error) {
	store, able := r.Store.(storage.Compactor)
	if !able {
		return 0, nil
	}
	records, indexes := keyspace.RecordRange(c.Collection.ID), keyspace.CollectionIndexRange(c.Collection.ID)
	docs := r.Tally.Of(c.Collection.ID).Total(c.Collection.Map)
	estimate, total := int64(0), int64(0)
	for _, x := range []struct {
		storage.Range
		live int64
	}{{records, docs.Bytes + recordOverhead*docs.Docs}, {indexes, -1}} {
		n, err := store.Reclaimable(ctx, x.Range, x.live)
		if err != nil {
			return 0, err
		}
		size, err := store.RangeBytes(ctx, x.Range)
		if err != nil {
			return 0, err
		}
		estimate, total = estimate+int64(n), total+int64(size)
	}
	estimate &^= 1<<20 - 1 // the estimate is not more precise
	if c.DryRun || estimate < c.MinFree {
		if !c.DryRun {
			estimate = 0
		}
		return estimate, nil
	}
	p := r.begin("Compact", c.Namespace, c.Command, total)
	defer r.end(p)
	begun := time.Now()
	next := func(bytes int64) {
		if p.done.Add(bytes) < total { // pause for as long as the piece took, so that other work has at least half of the disk
			sleep(ctx, time.Since(begun), nil)
		}
		begun = time.Now()
	}
	for _, part := range []storage.Range{records, indexes} {
		n, err := store.Compact(ctx, part, next)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}
