package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/index"
)

// loading is the restore of one collection: one goroutine reads the collection's documents from the dump and passes
// batches to workers, which write them.
type loading struct {
	*dumps.Collection // by its names on the server
	r                 *restoring
	t                 *transfer // of the goroutine that reads
	stop              func(cause error)
	source            string       // namespace in the dump
	buckets           *agg.Buckets // of a time-series collection, nil for others
	later             []bson.Raw   // indexes
	expiring          []bson.Raw   // indexes {_ts: 1} that expire documents, as in the dump
	lastWrite         bson.Value   // from a dump by Cantle: the seconds of each index, by its name, by which documents expire after their last write
	dated             bool         // a document has a date at _ts
	offer             bson.Raw     // throughput, nil for none
	asked             bson.Raw     // the shard key of --shard-key, nil for none

	pending batch
	skip    int64 // documents that the journal has recorded as done
	seen    int64 // documents read
	sent    int   // batches

	work    chan chunk // nil until the first batch
	workers sync.WaitGroup

	mu      sync.Mutex
	counted written
	arrived map[int]int64 // ends of stored batches, while an earlier batch is not stored
	next    int           // the first batch that is not stored
}

// chunk is a batch of documents for a worker: n numbers the batches, and end counts the documents of the dump up to
// the end of the batch.
type chunk struct {
	docs []bson.Raw
	n    int
	end  int64
}

// begin makes a collection and its unique indexes on the server from the metadata in the dump; with --dryRun it makes
// nothing. If the server refuses the collection, begin records that and returns nil. stop is called when a worker
// fails, and ends the restore.
func (r *restoring) begin(ctx context.Context, t *transfer, d *dumps.Collection, stop func(error)) (*loading, error) {
	to := *d
	to.DB, to.Coll = r.named(d)
	l := &loading{Collection: &to, r: r, t: t, stop: stop, source: d.NS(), skip: r.journalOpened.At(d.NS()), arrived: map[int]int64{}}
	var m bson.Raw
	if d.Metadata != "" {
		var err error
		if m, err = ejson.Parse(d.Metadata); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	options, _ := m.Get("options").Doc()
	l.buckets = bucketsIn(options)
	if r.dry {
		return l, nil
	}
	if r.drop {
		if _, err := t.run(ctx, to.DB, bson.D{{"drop", to.Coll}}.Doc()); err != nil && !isCode(err, 26) {
			return nil, err
		}
	}
	own, _ := m.Get("cantle").Doc()
	if r.noOptions {
		own = nil
	}
	if offer, ok := own.Get("sharedThroughput").Doc(); ok {
		if err := r.makeDatabase(ctx, t, to.DB, offer); err != nil {
			return nil, err
		}
	}
	err := l.create(ctx, options, own)
	if errors.Is(err, errNotMade) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	indexes, _ := m.Get("indexes").Array()
	return l, l.index(ctx, t, l.divide(indexes, options))
}

// divide sorts the indexes of the dump by when they are made: it returns unique ones, which are made before the
// documents are written; others are kept in l for later. It omits that of _id, those that an account only lists, and,
// if l.r.noIndexes is set, all.
func (l *loading) divide(indexes, options bson.Raw) (first []bson.Raw) {
	for v := range indexes.Values() {
		x, _ := v.Doc()
		name, _ := x.Get("name").Str()
		switch {
		case l.r.noIndexes || name == "_id_" || account.IsID(x):
		case account.IsDefault(x):
			l.r.shows.Logf("%s: the index %s is left out, by which an account represents that it indexes every field; create {\"$**\": 1} if you need it", l.NS(), name)
		case index.ExpiresByTS(x):
			l.expiring = append(l.expiring, x.Clone())
		case x.Get("unique").Truthy():
			first = append(first, account.New(x, options))
		default:
			l.later = append(l.later, account.New(x, options))
		}
	}
	return first
}

// provision sets the throughput of a collection.
func (l *loading) provision(ctx context.Context, t *transfer) {
	if l.offer == nil {
		return
	}
	command := append(bson.D{{"customAction", "UpdateCollection"}, {"collection", l.Coll}}, l.offer.D()...)
	if _, err := t.run(ctx, l.DB, command.Doc()); err != nil {
		l.r.recordLost("%s: the throughput was not restored: %v", l.NS(), l.r.explain(err))
	}
}

// add adds the next document of the dump to the batch, unless the journal has recorded it as done. packed means that
// the document is a bucket of a time series, which is decoded into measurements.
// Errors: buckets that cannot be decoded; the reason why the restore has ended.
func (l *loading) add(ctx context.Context, doc bson.Raw, packed bool) error {
	l.seen++
	if !l.dated && l.expiring != nil {
		l.dated = hasDate(doc)
	}
	if l.seen <= l.skip {
		return nil
	}
	docs := []bson.Raw{doc}
	if packed && l.buckets == nil {
		return errors.New("the dump has buckets of a collection that is not a time series")
	}
	if packed {
		rows, err := agg.Unpack(doc, *l.buckets)
		if err != nil {
			return err
		}
		docs = rows
	}
	full := false
	for _, d := range docs {
		full = l.pending.add(d) || full
	}
	if full {
		return l.flush(ctx)
	}
	return nil
}

// flush passes the collected documents as a batch to the workers, and starts the workers before the first batch. It
// waits while all workers are busy.
func (l *loading) flush(ctx context.Context) error {
	docs := l.pending.take()
	if len(docs) == 0 {
		return nil
	}
	if l.work == nil {
		n := l.r.workers
		if l.inOrder() {
			n = 1
		}
		work := make(chan chunk)
		l.work = work
		for range n {
			l.workers.Go(func() { l.serve(ctx, work) })
		}
	}
	select {
	case l.work <- chunk{docs, l.sent, l.seen}:
		l.sent++
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *loading) inOrder() bool { return l.r.ordered || l.Capped() }

// serve is the loop of one worker: it writes batches to the server until there are no more, or the restore ends.
func (l *loading) serve(ctx context.Context, work <-chan chunk) {
	t, err := l.t.worker()
	if err == nil {
		defer t.endWorker()
	}
	for c := range work {
		if err == nil && ctx.Err() == nil {
			err = l.store(ctx, t, c)
		}
		if err != nil {
			l.stop(fmt.Errorf("%s: %w", l.NS(), l.r.explain(err)))
		}
	}
}

// store writes one batch to the server, and records in the journal up to which document all batches are stored, so
// that an interrupted restore can resume there.
func (l *loading) store(ctx context.Context, t *transfer, c chunk) error {
	w := written{done: int64(len(c.docs))}
	if !l.r.dry {
		var err error
		var taken duplicateRefusals
		w, err = t.write(ctx, writes{command: "insert", list: "documents", db: l.DB, coll: l.Coll, bypass: !l.r.validate,
			ordered: l.inOrder() || l.r.stop, stop: l.r.stop, taken: taken.add}, c.docs)
		if w.first != "" {
			w.first = l.NS() + ": " + w.first
		}
		if err == nil {
			err = taken.judge(ctx, l.r.looker, l.DB, l.Coll, l.hint(), &w)
		}
		if err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted.add(w)
	l.arrived[c.n] = c.end
	end := int64(0)
	for at, ok := l.arrived[l.next]; ok; at, ok = l.arrived[l.next] {
		delete(l.arrived, l.next)
		l.next++
		end = at
	}
	if end == 0 || l.r.dry {
		return nil
	}
	return l.r.journalOpened.Set(l.source, end)
}

// hint returns advice about documents that share an _id.
func (l *loading) hint() string {
	if l.asked != nil {
		return ""
	}
	return fmt.Sprintf(". In an account _id is only unique per shard key value: restore a collection that was sharded with --drop --shard-key %s=FIELD", l.source)
}

// abandon ends the workers without further batches.
func (l *loading) abandon() {
	if l.work != nil {
		close(l.work)
		l.work = nil
	}
	l.workers.Wait()
}

// finish waits until everything is stored, makes the remaining indexes, sets the throughput, and prints the numbers of
// documents. With --dryRun it only waits and prints.
func (r *restoring) finish(ctx context.Context, t *transfer, l *loading) error {
	err := l.flush(ctx)
	l.abandon()
	r.mu.Lock()
	r.total.add(l.counted)
	r.mu.Unlock()
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return err
	}
	if !r.dry {
		if err := l.index(ctx, t, append(l.later, l.expiry()...)); err != nil {
			return err
		}
		l.provision(ctx, t)
	}
	switch c := &l.counted; {
	case c.failed > 0:
		r.shows.Logf("%s: %s, %d failed, the first: %s", l.NS(), columns.Plural(c.done, "document"), c.failed, c.first)
	case l.Kind != "view":
		r.shows.Logf("%s: %s", l.NS(), columns.Plural(c.done, "document"))
	}
	return nil
}

// isCode reports whether the server refused a command with this code.
func isCode(err error, code int32) bool {
	var refused mongo.CommandError
	return errors.As(err, &refused) && refused.Code == code
}
