package cursors

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// tails are the results of tailable cursors.
type tails struct {
	mu   sync.Mutex
	list []tailed
}

// tailed is the result of one tailable cursor.
type tailed struct {
	ns       string
	await    bool
	back     int64
	events   []histories.Event
	complete bool
	least    int // the filter: only groups of at least this value
}

// tail follows the capped collections by a sequence of tailable cursors until working ends, and records their
// results in to.
func (w *world) tail(working, ctx context.Context, r *rand.Rand, to *tails) {
	for working.Err() == nil {
		one := tailed{ns: []string{tail, tail, small}[r.IntN(3)], await: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			one.least = r.IntN(1009)
		}
		length, cancel := context.WithTimeout(working, time.Duration(500+r.IntN(4000))*time.Millisecond)
		err := w.follow(length, ctx, r, &one)
		cancel()
		// CappedPositionLost: the cursor was overtaken by writes.
		if err != nil && !w.away(err) && !(one.ns == small && code(err, 136, 43)) {
			w.bad("a tailable cursor of %s, await %v: %v", one.ns, one.await, err)
		}
		to.mu.Lock()
		to.list = append(to.list, one)
		to.mu.Unlock()
		w.did("tailed", len(one.events))
	}
}

// open opens a tailable cursor.
func (t *tailed) open(ctx context.Context, c *mongo.Client, batch int32) (*mongo.Cursor, error) {
	kind := options.Tailable
	if t.await {
		kind = options.TailableAwait
	}
	o := options.Find().SetCursorType(kind).SetBatchSize(batch)
	if t.await {
		o.SetMaxAwaitTime(50 * time.Millisecond)
	}
	return coll(c, t.ns).Find(ctx, on("g", on("$gte", t.least)), o)
}

// follow reads with one cursor until working ends.
func (w *world) follow(working, ctx context.Context, r *rand.Rand, t *tailed) error {
	cursor, err := t.open(ctx, w.any(r), int32(1+r.IntN(100)))
	t.back = w.now()
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for working.Err() == nil {
		if more, err := t.take(ctx, cursor); !more {
			return err
		}
		if r.IntN(5) == 0 {
			sleep(working, time.Duration(r.IntN(60))*time.Millisecond)
		}
	}
	return nil
}

// take reads the rows that the cursor has now. more is false when the cursor has ended.
func (t *tailed) take(ctx context.Context, cursor *mongo.Cursor) (more bool, err error) {
	if !cursor.TryNext(ctx) {
		if !t.await {
			time.Sleep(5 * time.Millisecond)
		}
		return cursor.ID() != 0 && cursor.Err() == nil, cursor.Err()
	}
	for {
		row, err := rowOf(cursor.Current)
		if err != nil {
			return false, err
		}
		t.events = append(t.events, histories.Event{Key: row.Key, Version: row.Version})
		if cursor.RemainingBatchLength() == 0 {
			return true, nil
		}
		cursor.TryNext(ctx)
	}
}

// judgeTails reads the collection tail from its beginning by two more tailable cursors, one without and one with
// awaitData, and checks the results of these and of all earlier cursors.
func (w *world) judgeTails(ctx context.Context, to *tails) {
	for _, await := range []bool{false, true} {
		t := tailed{ns: tail, await: await}
		cursor, err := t.open(ctx, w.all, 1000)
		if err != nil {
			w.bad("a tailable cursor in the end: %v", err)
			return
		}
		t.back = w.now()
		for until := time.Now().Add(streamTimeout); ; {
			more, err := t.take(ctx, cursor)
			t.complete = len(t.events) > 0 && t.events[len(t.events)-1].Key == last
			if err != nil || !more || t.complete || time.Now().After(until) {
				if !t.complete {
					w.bad("a tailable cursor does not come to the last document: %v", err)
				}
				break
			}
		}
		_ = cursor.Close(ctx)
		to.list = append(to.list, t)
	}
	for _, t := range to.list {
		var changes []histories.Change
		for _, x := range w.of(t.ns) {
			if groupOf(x.Key) >= t.least {
				changes = append(changes, x)
			}
		}
		s := histories.Stream{Changes: changes, Events: t.events, Complete: t.complete}
		if t.ns == small { // the first documents are removed
			s.Back = t.back
		}
		for _, text := range s.Judge() {
			w.bad("a tailable cursor of %s, await %v, %d rows: %s", t.ns, t.await, len(t.events), text)
		}
	}
}
