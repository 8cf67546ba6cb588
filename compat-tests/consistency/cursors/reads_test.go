package cursors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// interrupted lists the error codes that a read may have if its collection or snapshot no longer exists:
// QueryPlanKilled, CursorNotFound, NoSuchTransaction, SnapshotUnavailable, SnapshotTooOld.
var interrupted = []int{175, 43, 251, 246, 239}

// seen is the result of a read.
type seen struct {
	question
	rows       []histories.Row
	sent, back int64
	ns         string
	at         string      // the kind of the read
	client     int         // the client whose transaction did the read, 0 for none
	own        map[int]int // versions that this client's own documents have in the transaction
}

// read runs the find or aggregate on a collection, and passes each batch of its result to the function each.
func (q question) read(ctx context.Context, c *mongo.Collection, each func(rows []histories.Row) error) error {
	cursor, err := q.open(ctx, c)
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	if cursor.RemainingBatchLength() == 0 {
		if err := each(nil); err != nil {
			return err
		}
	}
	return batches(ctx, cursor, each)
}

// batches passes each batch of a cursor to a function.
func batches(ctx context.Context, cursor *mongo.Cursor, each func(rows []histories.Row) error) error {
	var rows []histories.Row
	for {
		left := cursor.RemainingBatchLength()
		if left == 0 && rows != nil {
			if err := each(rows); err != nil {
				return err
			}
			rows = nil
		}
		if !cursor.Next(ctx) {
			return cursor.Err()
		}
		row, err := rowOf(cursor.Current)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
}

// reads is the state of one reader.
type reads struct {
	*world
	r    *rand.Rand
	past []moment
}

// moment holds the cluster time of a snapshot read, and the times at which the read was sent and answered, by which
// later reads at the same cluster time are checked.
type moment struct {
	at         bson.Timestamp
	sent, back int64
}

// work reads until working ends.
func (d *reads) work(working, ctx context.Context) {
	for sleep(working, time.Duration(d.r.IntN(10))*time.Millisecond) {
		s := seen{question: drawQuestion(d.r, 0, 34*keysEach), ns: docs, sent: d.now()}
		if d.r.IntN(3) == 0 {
			s.ns = more
		}
		one := d.any(d.r)
		var err error
		switch d.r.IntN(4) {
		case 0:
			s.at, err = "with read concern snapshot", d.snapshot(ctx, one, &s)
		case 1:
			s.at, err = "at a time in the past", d.readPast(ctx, one, &s)
		default:
			s.at = "as it is"
			err = s.read(ctx, coll(one, s.ns), func(rows []histories.Row) error { d.take(&s, rows); return nil })
		}
		switch {
		case err == nil && s.back != 0:
			d.recordRead(s)
		case err != nil && !d.away(err) && !code(err, interrupted...):
			d.bad("%s of %s %s: %v", s.question, s.ns, s.at, err)
		case err != nil:
			d.did("interrupted", 1)
		}
	}
}

// take adds a batch to the recorded result of a read, and records the time of the first batch.
func (d *reads) take(s *seen, rows []histories.Row) {
	if s.back == 0 {
		s.back = d.now()
	}
	s.rows = append(s.rows, rows...)
	if d.r.IntN(4) == 0 {
		time.Sleep(time.Duration(d.r.IntN(20)) * time.Millisecond)
	}
}

// snapshot reads in a snapshot session, and keeps its cluster time so that later reads can use the same snapshot.
func (d *reads) snapshot(ctx context.Context, one *mongo.Client, s *seen) error {
	session, err := one.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	inside := mongo.NewSessionContext(ctx, session)
	if err := s.read(inside, coll(one, s.ns), func(rows []histories.Row) error { d.take(s, rows); return nil }); err != nil {
		return err
	}
	if at := session.SnapshotTime(); at.T != 0 {
		if d.past = append(d.past, moment{at, s.sent, s.back}); len(d.past) > 30 {
			d.past = slices.Delete(d.past, d.r.IntN(20), 21)
		}
	}
	return nil
}

// readPast reads at the cluster time of an earlier snapshot.
func (d *reads) readPast(ctx context.Context, one *mongo.Client, s *seen) error {
	if len(d.past) == 0 {
		return nil
	}
	m := d.past[d.r.IntN(len(d.past))]
	cmd := bson.D{{Key: "find", Value: coll(one, s.ns).Name()}, {Key: "batchSize", Value: s.batch}}
	for _, x := range []bson.E{{Key: "filter", Value: s.filter}, {Key: "sort", Value: s.sort}, {Key: "hint", Value: s.hint}} {
		if doc, is := x.Value.(bson.D); x.Value != nil && (!is || doc != nil) {
			cmd = append(cmd, x)
		}
	}
	cmd = append(cmd, bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}, {Key: "atClusterTime", Value: m.at}}})
	cursor, err := coll(one, s.ns).Database().RunCommandCursor(ctx, cmd)
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	cursor.SetBatchSize(s.batch)
	if err := batches(ctx, cursor, func(rows []histories.Row) error { d.take(s, rows); return nil }); err != nil {
		return err
	}
	s.sent, s.back = m.sent, m.back
	d.did("in the past", 1)
	return nil
}

// recordRead records a read for the check at the end.
func (w *world) recordRead(s seen) {
	w.know.Lock()
	defer w.know.Unlock()
	w.seen = append(w.seen, s)
	w.counts["reads"]++
	w.counts["rows"] += len(s.rows)
}

// judgeReads checks all recorded reads.
func (w *world) judgeReads() {
	lists := map[string][]histories.Change{}
	for _, s := range w.seen {
		name := fmt.Sprint(s.ns, s.client)
		if lists[name] == nil {
			lists[name] = slices.DeleteFunc(w.of(s.ns), func(x histories.Change) bool { return s.client != 0 && x.Client == s.client })
		}
		changes := lists[name][:len(lists[name]):len(lists[name])]
		for key, version := range s.own {
			changes = append(changes, histories.Change{Client: s.client, Key: key, Version: version, Begin: s.sent - 2, End: s.sent - 1})
		}
		one := histories.Snapshot{Changes: changes, Rows: s.rows, Sent: s.sent, Back: s.back, Order: s.order, Filter: s.matches}
		for _, text := range one.Judge() {
			w.bad("%s of %s %s: %s", s.question, s.ns, s.at, text)
		}
	}
}

// opened is a cursor that stays open for the whole run, so that the server parks it.
type opened struct {
	seen
	from *mongo.Cursor
}

// crowd opens 300 cursors, so many that a server parks most of them.
func (w *world) crowd(ctx context.Context) (out []*opened) {
	r := rand.New(rand.NewPCG(w.seed, 5))
	p := w.writer(4, more)
	for key := 4 * keysEach; key < 5*keysEach; key += 2 {
		p.single(ctx, p.draw(key))
	}
	for range 300 {
		o := &opened{seen: seen{question: drawQuestion(r, 4*keysEach, 5*keysEach), ns: more, sent: w.now(), at: "in a cursor that was open all the time"}}
		o.batch = 1 + int32(r.IntN(3))
		var err error
		if o.from, err = o.open(ctx, coll(w.any(r), more)); err != nil {
			w.bad("%s: %v", o.question, err)
			return nil
		}
		o.back = w.now()
		out = append(out, o)
	}
	return out
}

// drain reads the remaining batches of the cursors.
func (w *world) drain(ctx context.Context, list []*opened) {
	for _, o := range list {
		err := batches(ctx, o.from, func(rows []histories.Row) error { o.rows = append(o.rows, rows...); return nil })
		switch {
		case err == nil:
			w.recordRead(o.seen)
			w.did("parked", 1)
		case !w.away(err):
			w.bad("%s of %s %s: %v", o.question, o.ns, o.at, err)
		}
	}
}
