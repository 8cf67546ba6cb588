package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// bankClients move money between accounts; every snapshot must have the same total.
type bankClients struct {
	*chaos
	coll         *mongo.Collection
	moved, looks atomic.Int64
}

// Number of accounts, and the initial balance of each.
const accounts, wealth = 12, 100

func (c *chaos) newBank() *bankClients {
	b := &bankClients{chaos: c, coll: c.db.Collection("bank")}
	c.shard("bank")
	for i := range accounts {
		c.retry("an account", func(ctx context.Context) error {
			_, err := b.coll.UpdateOne(ctx, bson.M{"_id": i}, bson.M{"$set": bson.M{"balance": wealth, "k": i}}, options.UpdateOne().SetUpsert(true))
			return err
		})
	}
	return b
}

func (b *bankClients) transfer(ctx context.Context, r *rand.Rand, _ int) {
	from, to, n := r.IntN(accounts), r.IntN(accounts), 1+r.IntN(5)
	_, err := b.session(ctx, func(ctx context.Context) error {
		if _, err := b.coll.UpdateOne(ctx, bson.M{"_id": from}, bson.M{"$inc": bson.M{"balance": -n}, "$set": bson.M{"f0": n}}); err != nil {
			return err
		}
		_, err := b.coll.UpdateOne(ctx, bson.M{"_id": to}, bson.M{"$inc": bson.M{"balance": n}, "$set": bson.M{"f1": n}})
		return err
	})
	if err == nil {
		b.moved.Add(1)
	}
}

func (b *bankClients) look(ctx context.Context, r *rand.Rand, _ int) {
	total := 0
	look := func(ctx context.Context) (err error) { total, err = b.sum(ctx, b.coll); return err }
	var err error
	if r.IntN(2) == 0 {
		_, err = b.session(ctx, look, options.Transaction().SetReadConcern(readconcern.Snapshot()))
	} else {
		err = b.do(ctx, look)
	}
	if err == nil {
		b.looks.Add(1)
		if total != accounts*wealth {
			b.Errorf("the bank has %d in all, and not %d", total, accounts*wealth)
		}
	}
}

// sum returns the total of all accounts, read in small batches.
func (*bankClients) sum(ctx context.Context, coll *mongo.Collection) (total int, err error) {
	cursor, err := coll.Find(ctx, bson.M{}, options.Find().SetBatchSize(5))
	if err != nil {
		return 0, err
	}
	var docs []struct{ Balance int }
	err = cursor.All(ctx, &docs)
	for _, d := range docs {
		total += d.Balance
	}
	return total, err
}

func (b *bankClients) check() {
	for i := range b.addresses {
		coll := b.direct(i).Collection("bank")
		b.retry("the bank in the end", func(ctx context.Context) error {
			total, err := b.sum(ctx, coll)
			if err == nil && total != accounts*wealth {
				b.Errorf("the bank has %d in all at server %d, and not %d", total, i, accounts*wealth)
			}
			return err
		})
	}
	b.Logf("%d transfers, %d looks", b.moved.Load(), b.looks.Load())
	if b.moved.Load() == 0 || b.looks.Load() == 0 {
		b.Error("the bank did nothing")
	}
}

// keys is the number of lists, and of registers.
const keys = 6

// recorded is a history of transactions.
type recorded struct {
	mu     sync.Mutex
	list   []histories.Txn
	values atomic.Int64
}

// add records the outcome of a transaction.
func (h *recorded) add(t histories.Txn, began time.Time, unknown bool, err error) {
	switch {
	case err == nil:
		t.End = time.Since(began).Nanoseconds()
	case unknown:
		t.Outcome = histories.Unknown
	default:
		t.Outcome = histories.Aborted
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, t)
}

// judged returns the recorded transactions and a final read, as a history whose isolation is checked, and the number
// of committed transactions.
func (h *recorded) judged(final histories.Txn) (all []histories.Txn, committed int) {
	for _, t := range h.list {
		if t.Outcome == histories.Committed {
			committed++
		}
	}
	return append(h.list, final), committed
}

// listClients append to lists and read them.
type listClients struct {
	*chaos
	recorded
}

func (l *listClients) coll() *mongo.Collection { return l.db.Collection("lists") }

func (l *listClients) read(ctx context.Context, key int) ([]int, error) {
	var doc struct{ List []int }
	err := l.coll().FindOne(ctx, bson.M{"_id": key}).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return doc.List, err
}

func (l *listClients) transact(ctx context.Context, r *rand.Rand, _ int) {
	t := histories.Txn{Ops: make([]histories.Op, 1+r.IntN(4)), Begin: time.Since(l.began).Nanoseconds()}
	for i := range t.Ops {
		if t.Ops[i].Key = r.IntN(keys); r.IntN(2) == 0 {
			t.Ops[i].Write = int(l.values.Add(1))
		}
	}
	push := func(ctx context.Context, o histories.Op) error {
		_, err := l.coll().UpdateOne(ctx, bson.M{"_id": o.Key}, bson.M{"$push": bson.M{"list": o.Write}, "$set": bson.M{"f0": o.Write}}, options.UpdateOne().SetUpsert(true))
		return err
	}
	if len(t.Ops) == 1 && t.Ops[0].Write != 0 { // a single write outside of a transaction
		err := l.do(ctx, func(ctx context.Context) error { return push(ctx, t.Ops[0]) })
		l.add(t, l.began, err != nil, err)
		return
	}
	unknown, err := l.session(ctx, func(ctx context.Context) (err error) {
		for i := range t.Ops {
			if o := &t.Ops[i]; o.Write != 0 {
				err = push(ctx, *o)
			} else {
				o.Read, err = l.read(ctx, o.Key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	l.add(t, l.began, unknown, err)
}

func (l *listClients) check() {
	final := histories.Txn{}
	for k := range keys {
		l.retry("a list in the end", func(ctx context.Context) error {
			list, err := l.read(ctx, k)
			if err == nil {
				final.Ops = append(final.Ops, histories.Op{Key: k, Read: list})
			}
			return err
		})
	}
	all, committed := l.judged(final)
	for _, wrong := range histories.Lists(all) {
		l.Errorf("lists: %s", wrong)
	}
	l.Logf("%d transactions on lists, %d committed", len(all), committed)
	if committed == 0 {
		l.Error("no list was written")
	}
}

// registerClients read and write registers in transactions.
type registerClients struct {
	*chaos
	recorded
}

func (g *registerClients) transact(ctx context.Context, r *rand.Rand, _ int) {
	coll := g.db.Collection("registers")
	t := histories.Txn{Ops: make([]histories.Op, 2+r.IntN(3)), Begin: time.Since(g.began).Nanoseconds()}
	for i := range t.Ops {
		if t.Ops[i].Key = r.IntN(keys); r.IntN(2) == 0 {
			t.Ops[i].Write = int(g.values.Add(1))
		}
	}
	unknown, err := g.session(ctx, func(ctx context.Context) error {
		for i := range t.Ops {
			o := &t.Ops[i]
			if o.Write != 0 {
				if _, err := coll.UpdateOne(ctx, bson.M{"_id": o.Key}, bson.M{"$set": bson.M{"v": o.Write}}, options.UpdateOne().SetUpsert(true)); err != nil {
					return err
				}
				continue
			}
			var doc struct{ V int }
			err := coll.FindOne(ctx, bson.M{"_id": o.Key}).Decode(&doc)
			switch {
			case err == nil:
				o.Read = []int{doc.V}
			case !errors.Is(err, mongo.ErrNoDocuments):
				return err
			}
		}
		return nil
	})
	g.add(t, g.began, unknown, err)
}

func (g *registerClients) check() {
	all, committed := g.judged(histories.Txn{})
	for _, wrong := range histories.Registers(all) {
		g.Errorf("registers: %s", wrong)
	}
	g.Logf("%d transactions on registers, %d committed", len(all), committed)
	if committed == 0 {
		g.Error("no register was written")
	}
}

// inserts are documents with unique names, and a change stream of them.
type inserts struct {
	*chaos
	coll *mongo.Collection

	sync.Mutex
	sent  map[string]bool // true = acknowledged
	next  []int           // the next number, by writer
	token bson.Raw
	seen  map[string]int
	order []int // the newest event, by writer
	total int
}

func (c *chaos) newInserts() *inserts {
	l := &inserts{chaos: c, coll: c.db.Collection("log"), sent: map[string]bool{}, seen: map[string]int{}, next: make([]int, 3), order: []int{-1, -1, -1}}
	c.shard("log")
	c.retry("a change stream", func(ctx context.Context) error {
		s, err := l.coll.Watch(ctx, mongo.Pipeline{})
		if err != nil {
			return err
		}
		l.token = append(bson.Raw(nil), s.ResumeToken()...)
		return s.Close(ctx)
	})
	return l
}

func (l *inserts) insert(ctx context.Context, _ *rand.Rand, who int) {
	n := l.next[who]
	l.next[who]++
	id := fmt.Sprintf("%d-%06d", who, n)
	l.Lock()
	l.sent[id] = false
	l.Unlock()
	begun := time.Now()
	err := l.do(ctx, func(ctx context.Context) error {
		_, err := l.coll.InsertOne(ctx, bson.M{"_id": id, "who": who, "n": n, "k": n % 17, "f0": n, "f1": bson.A{n % 3, n % 5}})
		return err
	})
	if err == nil {
		l.wrote(begun)
		l.Lock()
		l.sent[id] = true
		l.Unlock()
	}
}

// follow resumes the stream at any server, and takes some events.
func (l *inserts) follow(ctx context.Context, r *rand.Rand, _ int) {
	_ = l.do(ctx, func(ctx context.Context) error { return l.take(ctx, 1+r.IntN(60)) })
}

func (l *inserts) take(ctx context.Context, most int) error {
	s, err := l.coll.Watch(ctx, mongo.Pipeline{{{Key: "$match", Value: bson.M{"operationType": bson.M{"$in": bson.A{"insert", "delete", "update", "replace"}}}}}},
		options.ChangeStream().SetResumeAfter(l.token).SetBatchSize(int32(most%7)).SetMaxAwaitTime(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	for empty := 0; most > 0 && empty < 3; {
		if !s.TryNext(ctx) {
			if s.Err() != nil {
				break
			}
			empty++
			continue
		}
		most--
		l.event(s.Current)
		l.token = append(bson.Raw(nil), s.ResumeToken()...)
	}
	return s.Err()
}

// event checks that an event is an insert, comes once, and comes after the earlier ones of the same writer.
func (l *inserts) event(e bson.Raw) {
	kind, _ := e.Lookup("operationType").StringValueOK()
	id, _ := e.Lookup("documentKey", "_id").StringValueOK()
	who, _ := e.Lookup("fullDocument", "who").AsInt64OK()
	n, _ := e.Lookup("fullDocument", "n").AsInt64OK()
	if kind != "insert" {
		l.Errorf("the change stream has a %s, and nobody does that: %s", kind, e)
		return
	}
	if l.seen[id]++; l.seen[id] > 1 {
		l.Errorf("the change stream has %s %d times", id, l.seen[id])
	}
	if int(n) <= l.order[who] {
		l.Errorf("the change stream has %s behind number %d of the same writer", id, l.order[who])
	}
	l.order[who] = int(n)
	l.total++
}
