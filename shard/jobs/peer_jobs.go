package jobs

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// peerJobs holds the progress of peers' jobs on the structure of collections, as the peers have published it. This
// server shows the jobs to its clients, and forwards the clients' requests to them.
type peerJobs struct {
	mu   sync.Mutex
	list map[keyspace.CollectionID]Report
}

func (e *peerJobs) resharding(id keyspace.CollectionID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list[id].Phase != ""
}

// publishInterval is the interval at which a server publishes the progress of its jobs and reads the
// requests of peers.
const publishInterval = 250 * time.Millisecond

// Fields of a note, the document that is stored with the ownership of a job: the progress of the job, and requests of
// peers to abort it or to finish it now.
const (
	noteJob      = "job"
	noteAbort    = "abort"
	noteBlockNow = "hurry"
)

// publishLoop publishes and reads progress and requests until ctx ends.
func (r *Runner) publishLoop(ctx context.Context) {
	for sleep(ctx, publishInterval, r.publishWake) {
		r.report("tell", r.publishJobs(ctx))
	}
}

// publishJobs publishes the progress of this server's jobs, reads that of its peers' jobs, and carries out
// requests.
func (r *Runner) publishJobs(ctx context.Context) error {
	if err := r.Owners.ReleasePending(ctx); err != nil {
		return err
	}
	rows, err := r.Owners.List(ctx, structurePrefix)
	if err != nil {
		return err
	}
	found := map[keyspace.CollectionID]Report{}
	for _, row := range rows {
		id, ok := structureOf(row)
		switch {
		case !ok:
		case r.Owners.Owns(row.Name):
			if err := r.handleOwnJob(ctx, id, row); err != nil {
				return err
			}
		default:
			if p, ok := reportOf(row.Note); ok {
				found[id] = p
			}
		}
	}
	r.peerJobs.mu.Lock()
	defer r.peerJobs.mu.Unlock()
	r.peerJobs.list = found
	return nil
}

// structureOf returns the collection whose structure the owner of a row's job may change.
func structureOf(row peers.Job) (keyspace.CollectionID, bool) {
	id, err := strconv.ParseUint(row.Name[len(structurePrefix):], 10, 64)
	return keyspace.CollectionID(id), err == nil
}

// handleOwnJob carries out the requests of peers to a job of this server, which are in the job's note, and publishes
// the job's progress there.
func (r *Runner) handleOwnJob(ctx context.Context, id keyspace.CollectionID, row peers.Job) error {
	wishes := bson.Raw(row.Note)
	if c := r.resharding.of(id); c != nil && len(wishes) > 0 {
		if wishes.Get(noteBlockNow).Truthy() {
			c.blockNow.Store(true)
		}
		if wishes.Get(noteAbort).Truthy() {
			c.abort()
		}
	}
	coll := r.Catalog.Peek().ByID(id)
	if coll == nil {
		return nil
	}
	for _, p := range r.InProgress() {
		if p.Namespace == coll.Namespace && p.Server == "" {
			return r.Owners.UpdateNote(ctx, row.Name, func(was []byte) []byte { return withJob(was, p) })
		}
	}
	return nil
}

// withJob returns the note was with the progress p in place of the previous one, and the same requests.
func withJob(was bson.Raw, p Report) bson.Raw {
	b := bson.NewBuilder(nil)
	b.BeginDoc(noteJob)
	b.String("server", p.server)
	b.String("kind", p.Kind)
	b.String("ns", p.Namespace.String())
	if p.Command != nil {
		b.Raw("command", p.Command)
	}
	b.DateTime("started", p.Started.UnixMilli())
	b.Int64("done", p.Done)
	b.Int64("total", p.Total)
	b.Int64("left", int64(p.Left))
	b.String("phase", p.Phase)
	b.Int64("applied", p.Applied)
	b.End()
	for _, wish := range []string{noteAbort, noteBlockNow} {
		if len(was) > 0 && was.Get(wish).Truthy() {
			b.Bool(wish, true)
		}
	}
	return b.Doc()
}

// withRequest returns the note was with a request of a peer (wish) added.
func withRequest(was bson.Raw, wish string) bson.Raw {
	b := bson.NewBuilder(nil)
	if len(was) > 0 {
		for it := was.Iter(); it.Next(); {
			if string(it.Name) != wish {
				b.ValueBytes(it.Name, it.Value)
			}
		}
	}
	b.Bool(wish, true)
	return b.Doc()
}

// reportOf decodes the progress of a peer's job from its note; ok is false if the note has none yet.
func reportOf(note bson.Raw) (p Report, ok bool) {
	if len(note) == 0 {
		return p, false
	}
	d, ok := note.Get(noteJob).Doc()
	p.Server, _ = d.Get("server").Str()
	p.Kind, _ = d.Get("kind").Str()
	ns, _ := d.Get("ns").Str()
	p.Namespace = collection.ParseNamespace(ns)
	p.Command, _ = d.Get("command").Doc()
	at, _ := d.Get("started").DateTime()
	p.Started = time.UnixMilli(at)
	p.Done, _ = d.Get("done").Int64()
	p.Total, _ = d.Get("total").Int64()
	left, _ := d.Get("left").Int64()
	p.Left = time.Duration(left)
	p.Phase, _ = d.Get("phase").Str()
	p.Applied, _ = d.Get("applied").Int64()
	return p, ok
}

// requestFromPeer requests that a peer aborts its Reshard or finishes it now, and waits until it has ended.
// Errors: NoSuchReshardCollection (339), ReshardCollectionCommitted (340) for an abort; the errors of the store, the
// cause of ctx.
func (r *Runner) requestFromPeer(ctx context.Context, id keyspace.CollectionID, wish string) error {
	epoch, err := r.peerReshardEpoch(ctx, id)
	if err != nil {
		return err
	}
	if _, err := r.Owners.Request(ctx, structureJob(id), func(was []byte) []byte { return withRequest(was, wish) }); err != nil {
		return err
	}
	for {
		now, err := r.peerReshardEpoch(ctx, id)
		if e := mongoerr.From(err); err != nil && e.Code == mongoerr.NoSuchReshardCollection || err == nil && now != epoch {
			break
		}
		if err != nil {
			return err
		}
		if !sleep(ctx, lockPollInterval, nil) {
			return context.Cause(ctx)
		}
	}
	if snap, err := r.Store.Snapshot(ctx, 0); err == nil { // then the catalog here is as new as the end of the job
		snap.Close()
	}
	if wish == noteAbort && r.Catalog.Peek().ByID(id) == nil {
		return committed()
	}
	return nil
}

// peerReshardEpoch returns the epoch of the ownership under which a live peer reshards a collection. A later Reshard
// has another epoch.
// Errors: NoSuchReshardCollection (339), the errors of the store.
func (r *Runner) peerReshardEpoch(ctx context.Context, id keyspace.CollectionID) (uint64, error) {
	rows, err := r.Owners.List(ctx, structureJob(id))
	if err != nil {
		return 0, err
	}
	alive, err := r.Owners.Alive(ctx)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if p, ok := reportOf(row.Note); ok && row.Name == structureJob(id) && p.Phase != "" && alive[row.Owner] {
			return row.Epoch, nil
		}
	}
	return 0, notResharding()
}

// resumeLoop continues the jobs that dead servers have left unfinished, as long as this server owns that task.
func (r *Runner) resumeLoop(ctx context.Context) {
	for {
		if r.OwnsLoop(ctx, jobResume) {
			r.report("resume", r.resumeOrphans(ctx))
		}
		if !sleep(ctx, ownRetryInterval, nil) {
			return
		}
	}
}

// resumeOrphans finishes changes of shards, index builds and rewritings of collections on which no live server works,
// and removes what else dead servers have left (Config.Orphans).
func (r *Runner) resumeOrphans(ctx context.Context) error {
	var waiting []*catalog.Collection
	for _, c := range r.Catalog.Peek().Collections("") {
		if unfinished(c) {
			waiting = append(waiting, c)
		}
	}
	alive, err := r.Owners.Alive(ctx)
	if err != nil {
		return err
	}
	if r.Orphans != nil {
		if err := r.Orphans(ctx, func(id storage.MemberID) bool { return alive[id] }); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	rows, err := r.Owners.List(ctx, structurePrefix)
	if err != nil {
		return err
	}
	busy := map[keyspace.CollectionID]bool{}
	for _, row := range rows {
		id, _ := structureOf(row)
		busy[id] = alive[row.Owner] && (row.Owner != r.Owners.Member() || r.Owners.Owns(row.Name))
	}
	for _, c := range waiting {
		if busy[c.ID] {
			continue
		}
		if err := r.resumeOne(ctx, c.ID); err != nil {
			r.report("resume", err)
		}
	}
	return nil
}

// unfinished reports whether a job on the structure of a collection has not ended.
func unfinished(c *catalog.Collection) bool {
	if c.IsView() {
		return false
	}
	for _, ix := range c.Indexes {
		if ix.State == catalog.IndexBuilding {
			return true
		}
	}
	return c.Frozen || c.Rewriting != nil || len(unsettled(c.Map)) > 0
}
