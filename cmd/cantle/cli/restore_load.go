package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// loading is one collection of a restore: one goroutine reads it and hands batches to its
// workers.
type loading struct {
	*dumps.Collection // by its names on the server
	r                 *restoring
	t                 *transfer // of the goroutine that reads
	stop              func(cause error)
	source            string       // namespace in the dump
	buckets           *agg.Buckets // of a time-series collection, nil for others
	later             []bson.Raw   // indexes
	offer             bson.Raw     // throughput, nil for none

	pending batch
	skip    int64 // documents that a journal says are done
	seen    int64 // documents read
	sent    int   // batches

	work    chan chunk // nil until there is work
	workers sync.WaitGroup

	mu      sync.Mutex
	counted written
	arrived map[int]int64 // ends of batches that are stored, while an earlier one is not
	next    int           // the first batch that is not
}

// chunk is a batch on its way, and how many documents were read with it.
type chunk struct {
	docs []bson.Raw
	n    int
	end  int64
}

// begin makes a collection as its metadata says. stop ends the restore when a worker fails.
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
		b := bson.NewBuilder(nil)
		b.String("drop", to.Coll)
		if _, err := t.run(ctx, to.DB, b.Doc()); err != nil && !isCode(err, 26) {
			return nil, err
		}
	}
	b := bson.NewBuilder(nil)
	b.String("create", to.Coll)
	for name, v := range options.Fields() {
		if !r.noOptions && string(name) != "autoIndexId" && string(name) != "uuid" {
			b.ValueBytes(name, v)
		}
	}
	// A collection that is there stays as it is.
	if _, err := t.run(ctx, to.DB, b.Doc()); err != nil && !isCode(err, 48) {
		return nil, err
	}
	if own, ok := m.Get("cantle").Doc(); ok && !r.noOptions {
		l.own(ctx, own)
	}
	indexes, _ := m.Get("indexes").Array()
	var first []bson.Raw
	for v := range indexes.Values() {
		x, _ := v.Doc()
		name, _ := x.Get("name").Str()
		switch {
		case r.noIndexes || name == "_id_":
		case x.Get("unique").Truthy():
			first = append(first, indexSpec(x, options))
		default:
			l.later = append(l.later, indexSpec(x, options))
		}
	}
	return l, l.index(ctx, t, first)
}

// own gives a collection what only a Cantle knows of: its shard key, and at the end its
// throughput, which would only slow down what is loaded.
func (l *loading) own(ctx context.Context, own bson.Raw) {
	if key := own.Get("shardKey"); !key.IsMissing() {
		b := bson.NewBuilder(nil)
		b.String("shardCollection", l.NS())
		b.Value("key", key)
		b.Value("unique", own.Get("unique"))
		// Sharded already, or an address where that is done by other commands.
		if _, err := l.t.run(ctx, "admin", b.Doc()); err != nil {
			l.r.shows.Say("%s is not sharded: %v", l.NS(), l.r.explain(err))
		}
	}
	if offer, ok := own.Get("throughput").Doc(); ok {
		l.offer = offer.Clone()
	}
}

// provision gives a collection its throughput.
func (l *loading) provision(ctx context.Context, t *transfer) {
	if l.offer == nil {
		return
	}
	b := bson.NewBuilder(nil)
	b.String("customAction", "UpdateCollection")
	b.String("collection", l.Coll)
	b.Splice(l.offer.Elements())
	if _, err := t.run(ctx, l.DB, b.Doc()); err != nil {
		l.r.shows.Say("%s does not have its throughput: %v", l.NS(), l.r.explain(err))
	}
}

// bucketsIn is how the options of a time-series collection divide it, nil for others.
func bucketsIn(options bson.Raw) *agg.Buckets {
	d, ok := options.Get("timeseries").Doc()
	if !ok {
		return nil
	}
	o := catalog.Options{TimeSeries: d}
	o.TimeField, _ = d.Get("timeField").Str()
	o.MetaField, _ = d.Get("metaField").Str()
	b := cluster.BucketsOf(&o)
	return &b
}

// indexSpec makes the specification for createIndexes from that in a dump. It leaves out ns, which
// servers before 4.4 wrote and later ones refuse, and names the simple collation where the
// collection has another default, which the index would get otherwise.
func indexSpec(x, options bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	if !x.Has("collation") && options.Has("collation") {
		b.BeginDoc("collation")
		b.String("locale", "simple")
		b.End()
	}
	for name, v := range x.Fields() {
		if string(name) != "ns" {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

func (l *loading) index(ctx context.Context, t *transfer, list []bson.Raw) error {
	if len(list) == 0 {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("createIndexes", l.Coll)
	b.BeginArray("indexes")
	for _, x := range list {
		b.Value("", x.Value())
	}
	b.End()
	_, err := t.run(ctx, l.DB, b.Doc())
	return err
}

// add takes the next document of the dump, packed when that is a bucket. Errors: buckets that cannot be taken
// apart; why the restore has ended.
func (l *loading) add(ctx context.Context, doc bson.Raw, packed bool) error {
	l.seen++
	if l.seen <= l.skip {
		return nil
	}
	docs := []bson.Raw{doc}
	if packed && l.buckets == nil {
		return errors.New("the dump has buckets of a collection that is no time series")
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

// flush hands what is collected to the workers, which begin with the first batch.
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

// serve writes batches until there are no more, or the restore ends.
func (l *loading) serve(ctx context.Context, work <-chan chunk) {
	t, err := l.t.worker()
	if err == nil {
		defer t.rest()
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

// store writes one batch and notes what is done without a gap.
func (l *loading) store(ctx context.Context, t *transfer, c chunk) error {
	w := written{done: int64(len(c.docs))}
	if !l.r.dry {
		var err error
		w, err = t.write(ctx, writes{command: "insert", list: "documents", db: l.DB, coll: l.Coll, bypass: !l.r.validate,
			ordered: l.inOrder() || l.r.stop, stop: l.r.stop}, c.docs)
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

// abandon lets the workers go without the rest.
func (l *loading) abandon() {
	if l.work != nil {
		close(l.work)
		l.work = nil
	}
	l.workers.Wait()
}

// finish waits until everything is stored, and makes the indexes that are left.
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
		if err := l.index(ctx, t, l.later); err != nil {
			return err
		}
		l.provision(ctx, t)
	}
	if l.Kind != "view" {
		r.shows.Say("%s: %d documents", l.NS(), l.counted.done)
	}
	return nil
}

// isCode reports whether the server refused a command with this code.
func isCode(err error, code int32) bool {
	var refused mongo.CommandError
	return errors.As(err, &refused) && refused.Code == code
}
