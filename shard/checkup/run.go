package checkup

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/verify"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

// Finding is one error in a store.
type Finding struct {
	Kind  string // folder, file, catalog, records, index, counts, shards or change log
	Where string // a file, a namespace, or an index of one
	What  string
	Count int64 // how often; 0 = once
}

// Report holds the findings and the numbers of what was checked.
type Report struct {
	Findings    []Finding
	Collections int
	Records     int64
	Entries     int64    // of indexes
	Changes     int64    // records of the change log
	Outdated    []string // indexes that the next server rebuilds, as their entries have another version

	Now func() time.Time // the clock
}

// add adds a finding.
func (r *Report) add(kind, where string, n int64, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{kind, where, fmt.Sprintf(format, args...), n})
}

// Files adds findings for the damages of files.
func (r *Report) Files(damages []storage.Damage, snap *catalog.Snapshot) {
	for _, d := range damages {
		r.add("file", d.File, 0, "%s", verify.Sentence(d, snap))
	}
}

// Contents checks the contents of a store: that shard maps are valid, that index entries and counts agree with the
// documents, and that the change log can be decoded. progress is called with the numbers of records and entries read.
// It returns the catalog, nil if that cannot be read.
// Errors: ctx.Err() and the error of opening a snapshot; any other error, also of progress, is a finding.
func (r *Report) Contents(ctx context.Context, store storage.Store, progress func(n int64) error) (*catalog.Snapshot, error) {
	cat, err := catalog.Open(ctx, store, release.Default)
	if err != nil {
		r.add("catalog", "", 0, "it cannot be read: %v", err)
		return nil, ctx.Err()
	}
	snap := cat.Peek()
	board := &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: &ratelimit.Budgets{}, Tally: board, Now: r.Now, ReadOnly: true})
	if err := runner.Recover(ctx); err != nil {
		r.add("counts", "", 0, "they cannot be read: %v", err)
	}
	reader, err := store.Snapshot(ctx, 0)
	if err != nil {
		return snap, err
	}
	defer reader.Close()
	for _, coll := range snap.Collections("") {
		if coll.IsView() {
			continue
		}
		r.Collections++
		for _, ix := range coll.Indexes {
			if ix.Outdated {
				r.Outdated = append(r.Outdated, coll.Namespace.String()+" "+ix.Name)
			}
		}
		if err := coll.Map.Check(); err != nil {
			r.add("shards", coll.Namespace.String(), 0, "the partition map is invalid: %v", err)
			continue
		}
		env := mql.NewEnv(ctx)
		env.Release, env.ServerRelease, env.JavaScript = release.Default, release.Default, true
		v, err := verify.Check(env, reader, coll, progress)
		if err != nil {
			if ctx.Err() != nil {
				return snap, err
			}
			r.add("records", coll.Namespace.String(), 0, "they cannot be compared with the indexes: %v", err)
			continue
		}
		r.collection(v, board)
	}
	return snap, r.changes(ctx, store)
}

// collection adds the findings of one collection.
func (r *Report) collection(v *verify.Collection, board *tally.Board) {
	ns := v.Coll.Namespace.String()
	r.Records += v.Records
	if v.Invalid > 0 {
		r.add("records", ns, v.Invalid, "documents that are invalid, or stored under a wrong _id or shard key")
	}
	for i := range v.Indexes {
		x := &v.Indexes[i]
		r.Entries += x.Keys
		where := ns + " " + x.Index.Name
		if x.MissingCount > 0 {
			r.add("index", where, x.MissingCount, "documents without an index entry")
		}
		if x.ExtraCount > 0 {
			r.add("index", where, x.ExtraCount, "index entries without a document")
		}
		if x.Multikey > 0 {
			r.add("index", where, x.Multikey, "documents with arrays in an index that is not marked multikey")
		}
	}
	if v.Places.Wrong > 0 {
		r.add("records", ns, v.Places.Wrong, "places in the insertion order that do not belong to one document each")
	}
	carried := board.Of(v.Coll.ID).Carried()
	if len(v.Damages) > 0 { // counts are then compared for the whole collection, not by partition
		missing := -v.Records
		for _, d := range v.Coll.Map.Shards() {
			missing += board.Of(v.Coll.ID).Shard(d.ID).Get().Docs
		}
		if missing > 0 && len(carried) == 0 {
			r.add("records", ns, missing, "documents that are counted but cannot be read")
		}
		return
	}
	for i, d := range v.Coll.Map.Shards() {
		counted := board.Of(v.Coll.ID).Shard(d.ID).Get().Docs
		if counted != v.PerShard[i] && len(carried) == 0 {
			r.add("counts", ns, 0, "partition %d has %d documents by its count and %d in fact", d.ID, counted, v.PerShard[i])
		}
	}
}

// changes reads the change log.
func (r *Report) changes(ctx context.Context, store storage.Store) error {
	unreadable := int64(0)
	var last storage.Timestamp
	_, err := store.ReadLog(ctx, changelog.Stream, 0, func(ts, _ storage.Timestamp, rec []byte) bool {
		r.Changes++
		if _, err := changelog.Decode(rec); err != nil || ts < last {
			unreadable++
		}
		last = ts
		return true
	})
	if unreadable > 0 {
		r.add("change log", "", unreadable, "invalid records")
	}
	if err != nil && ctx.Err() == nil {
		r.add("change log", "", 0, "it cannot be read completely: %v", err)
		return nil
	}
	return err
}
