package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// walk is a list of steps on two collections, in a transaction or not, with writes between the batches of all open
// cursors. Each cursor must return the rows that existed when it was opened.
type walk struct {
	seed          uint64
	inTransaction bool
	shard         bson.D
	indexes       []index
	committed     int // documents of each collection before the walk
	steps         []step
}

// step is one step of a walk: a write, the opening of a cursor, or the next batch of a cursor.
type step struct {
	write  bson.D
	open   *question
	cursor int // the number of the cursor
	batch  int32
}

// walked lists the collections of a walk in the order of their creation, because a transaction orders its writes by
// collection first.
var walked = []string{"w0", "w1"}

// walk draws a walk.
func (d drawer) walk(seed uint64) *walk {
	w := &walk{seed: seed, inTransaction: d.IntN(4) > 0, committed: d.IntN(2) * d.IntN(300)}
	if d.rarely(4) {
		w.shard = one("_id", "hashed")
	}
	if d.rarely(2) {
		w.indexes = []index{{{Key: "key", Value: one("x", int32(1))}, {Key: "name", Value: "x"}}}
	}
	cursors := 0
	for range 1 + d.IntN(3) {
		w.steps = append(w.steps, step{write: d.walkWrite(w, 30+d.IntN(150))})
	}
	many := d.rarely(8)
	for range 30 + d.IntN(60) {
		switch k := d.IntN(10); {
		case cursors == 0 || k == 0 || many && k < 6:
			n := 1
			if many {
				n = 60
			}
			for range n {
				w.steps = append(w.steps, step{open: d.walkQuestion(), cursor: cursors, batch: oneOf(d, int32(1), 2, 7, 50, 101)})
				cursors++
			}
		case k < 5:
			w.steps = append(w.steps, step{write: d.walkWrite(w, 1+d.IntN(8))})
		default:
			w.steps = append(w.steps, step{cursor: d.IntN(cursors), batch: oneOf(d, int32(1), 2, 7, 101)})
		}
	}
	return w
}

// walkQuestion draws the question of a cursor.
func (d drawer) walkQuestion() *question {
	q := &question{kind: "find", filter: bson.D{}}
	switch d.IntN(8) {
	case 0:
		q.sort = one("_id", d.direction())
	case 1:
		q.sort = bson.D{{Key: "x", Value: d.direction()}, {Key: "_id", Value: int32(1)}}
	case 2, 3:
		q.filter = one("x", one(oneOf(d, "$gt", "$lt"), int32(d.IntN(100))))
	case 4:
		q = &question{kind: "aggregate", pipeline: bson.A{one("$match", one("x", one("$gte", int32(d.IntN(60))))), one("$set", one("y", "$x"))}}
	case 5:
		q = &question{kind: "aggregate", pipeline: bson.A{one("$lookup", bson.D{{Key: "from", Value: other{}}, {Key: "localField", Value: "_id"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "r"}})}}
	}
	return q
}

// walkWrite draws a write of about n documents.
func (d drawer) walkWrite(w *walk, n int) bson.D {
	coll := walked[d.IntN(2)]
	at := int32(d.IntN(10_000))
	switch d.IntN(6) {
	case 0, 1, 2:
		list := bson.A{}
		for range n {
			// The random numbers are _ids that no document has yet, because a duplicate key would end the
			// transaction.
			list = append(list, bson.D{{Key: "_id", Value: float64(d.IntN(10_000)) + d.Float64()}, {Key: "x", Value: int32(d.IntN(100))}})
		}
		return bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: list}}
	case 3, 4:
		return bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: one("_id", bson.D{{Key: "$gte", Value: at}, {Key: "$lt", Value: at + int32(n*50)}})},
			{Key: "u", Value: oneOf(d, one("$set", one("x", int32(d.IntN(100)))), one("$inc", one("x", int32(1))), one("$set", one("z", strings.Repeat("z", 50))))}, {Key: "multi", Value: true}}}}}
	}
	return bson.D{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{bson.D{
		{Key: "q", Value: one("_id", bson.D{{Key: "$gte", Value: at}, {Key: "$lt", Value: at + int32(n*20)}})}, {Key: "limit", Value: 0}}}}}
}

// walker is an open cursor of a walk, with the answer that it must return.
type walker struct {
	*cursor
	q    *question
	want answer
}

// run runs the steps of a walk in a new database. differs describes the first cursor with a wrong answer, "" if
// there is none. Errors: errors of the connection, and of commands that cannot fail.
func (w *walk) run(s *set) (differs string, cursors int, err error) {
	k := &populatedWay{way: &way{shard: w.shard, shards: 3}, set: s, conn: s.normal, foreign: walked[0]}
	for _, coll := range walked {
		k.coll = coll
		if err := k.create(coll); err != nil {
			return "", 0, err
		}
		if w.shard == nil {
			if _, err := k.conn.must(s.db, bson.D{{Key: "create", Value: coll}}); err != nil {
				return "", 0, err
			}
		}
		if err := k.index(w.indexes); err != nil {
			return "", 0, err
		}
		var docs []bson.D
		for i := range w.committed {
			docs = append(docs, bson.D{{Key: "_id", Value: int32(i * 10_000 / w.committed)}, {Key: "x", Value: int32(i % 100)}})
		}
		if err := k.insert(coll, docs, nil); err != nil {
			return "", 0, err
		}
	}
	if w.inTransaction {
		k.session = bson.D{{Key: "lsid", Value: one("id", k.conn.newSession())}, {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}}
		if _, err := k.conn.must(s.db, append(bson.D{{Key: "find", Value: walked[0]}, {Key: "limit", Value: 1}, {Key: "startTransaction", Value: true}}, k.session...)); err != nil {
			return "", 0, err
		}
		defer func() { _, _ = k.conn.run("admin", append(bson.D{{Key: "abortTransaction", Value: 1}}, k.session...)) }()
	}
	open := map[int]*walker{}
	// of compares the rows of a cursor that has ended.
	of := func(o *walker) string {
		if o.id != 0 || o.q.same(o.want, o.answer) {
			return ""
		}
		return fmt.Sprintf("%s\nwhen it was opened: %s\nin batches: %s", o.q.script(), o.q.show(o.want), o.q.show(o.answer))
	}
	for _, step := range w.steps {
		switch {
		case step.write != nil:
			a, err := k.conn.run(s.db, append(slices.Clone(step.write), k.session...))
			if err != nil {
				return fmt.Sprintf("%.200s: %v", js(step.write), err), cursors, nil
			}
			if a.code != 0 {
				return "", cursors, fmt.Errorf("%.300s: error %d: %s", js(step.write), a.code, a.message)
			}
		case step.open != nil:
			want, err := k.sendPlain(step.open, manner{})
			if err != nil {
				return "", cursors, err
			}
			c, err := k.open(step.open, manner{batch: step.batch})
			if err != nil {
				return "", cursors, err
			}
			cursors++
			open[step.cursor] = &walker{c, step.open, want}
			if text := of(open[step.cursor]); text != "" {
				return text, cursors, nil
			}
		default:
			o := open[step.cursor]
			if o == nil || o.id == 0 {
				continue
			}
			if err := k.more(o.cursor, manner{batch: step.batch}); err != nil {
				return fmt.Sprintf("%s: %v", o.q.script(), err), cursors, nil
			}
			if text := of(o); text != "" {
				return text, cursors, nil
			}
		}
	}
	for _, o := range open {
		for o.id != 0 {
			if err := k.more(o.cursor, manner{}); err != nil {
				return fmt.Sprintf("%s: %v", o.q.script(), err), cursors, nil
			}
		}
		if text := of(o); text != "" {
			return text, cursors, nil
		}
	}
	return "", cursors, nil
}

// walk draws and runs a walk. If a cursor returns a wrong answer, it makes the walk smaller and reports it.
func (f *fuzzer) walk(seed uint64) error {
	w := drawer{Rand: rand.New(rand.NewPCG(seed, 2))}.walk(seed)
	n := 0
	try := func(w *walk) (string, int, error) {
		n++
		r := &round{fuzzer: f, set: &set{seed: seed, db: fmt.Sprintf("walk%d_%d", seed, n)}}
		if err := r.dial(); err != nil {
			return "", 0, err
		}
		defer r.end()
		return w.run(r.set)
	}
	differs, cursors, err := try(w)
	where := "way cursors between writes"
	if w.inTransaction {
		where += " of their transaction"
	}
	for range cursors {
		f.counted(where)
	}
	if differs == "" || err != nil {
		return err
	}
	until := time.Now().Add(trialMost)
	for size := len(w.steps) / 2; size > 0; size /= 2 {
		for at := 0; at < len(w.steps) && time.Now().Before(until); {
			y := *w
			y.steps = slices.Concat(w.steps[:at], w.steps[min(at+size, len(w.steps)):])
			if text, _, err := try(&y); err == nil && text != "" {
				w, differs = &y, text
			} else {
				at += size
			}
		}
	}
	f.report("walk", fmt.Sprintf("CANTLE_SEED=%d\n%s%s", seed, w, differs))
	return nil
}

// String prints a walk as a script.
func (w *walk) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %d documents of each of w0, w1; sharded by %s; indexes %v; in a transaction: %v\n", w.committed, js(w.shard), len(w.indexes), w.inTransaction)
	for _, s := range w.steps {
		switch {
		case s.write != nil:
			text := js(s.write)
			if len(text) > 600 {
				text = text[:600] + "…"
			}
			fmt.Fprintf(&b, "%s\n", text)
		case s.open != nil:
			fmt.Fprintf(&b, "c%d = %s // batchSize %d\n", s.cursor, js(bind(s.open.command(), walked[1], walked[0])), s.batch)
		default:
			fmt.Fprintf(&b, "getMore c%d // batchSize %d\n", s.cursor, s.batch)
		}
	}
	return b.String()
}
