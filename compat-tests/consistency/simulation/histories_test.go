package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/storage"
)

// hotDocs is the number of documents of a collection whose histories are recorded: few, so that transactions
// conflict.
const hotDocs = 8

func (w *world) hotDocs() int {
	return cmp.Or(w.plan.hotDocs, hotDocs)
}

// recorder holds the histories that the clients of one simulation record: of the lists in the field log, and of the
// registers in the field v.
type recorder struct {
	mu               sync.Mutex
	lists, registers []histories.Txn
	operations       int // of committed transactions
}

func (r *recorder) add(register bool, t histories.Txn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Outcome == histories.Committed {
		r.operations += len(t.Ops)
	}
	if register {
		r.registers = append(r.registers, t)
	} else {
		r.lists = append(r.lists, t)
	}
}

// key returns the key of a document in histories.
func (p place) key() int {
	if p.coll == plain {
		return 100 + int(p.id)
	}
	return int(p.id)
}

// hot draws a document.
func (c *client) hot() place {
	return place{[]string{counters, plain}[c.rng.IntN(2)], int64(c.rng.IntN(c.w.hotDocs()))}
}

// set returns a write of the register of a document.
func set(p place, value int) bson.D {
	return bson.D{{Key: "update", Value: p.coll}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: p.filter()},
		{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "v", Value: value}}}}}}}}}
}

// valuesOf returns the values that a read returned: those of a list, or the one value of a register.
func valuesOf(r reply, register bool) (out []int) {
	for _, raw := range r.rows() {
		var d struct {
			V   int
			Log []int
		}
		if err := bson.Unmarshal(raw, &d); err != nil {
			panic(err)
		}
		if !register {
			return d.Log
		}
		if d.V != 0 {
			return []int{d.V}
		}
	}
	return nil
}

// remember runs random transactions and single writes until the life of the server ends, and records them for the
// check.
func (c *client) remember(to *recorder) {
	defer c.hangUp()
	for !c.net.dead.Load() {
		time.Sleep(time.Duration(c.rng.IntN(20)) * time.Millisecond)
		register := c.rng.IntN(2) == 0
		t := histories.Txn{Begin: time.Now().UnixNano()}
		if c.rng.IntN(5) == 0 {
			c.writeOutsideTxn(&t, register)
		} else {
			c.together(&t, register)
		}
		if t.Outcome == histories.Committed {
			t.End = time.Now().UnixNano()
		}
		to.add(register, t)
	}
}

// write adds a write of a new value to the recorded transaction t, and returns the command that makes the write.
func (c *client) write(t *histories.Txn, register bool) bson.D {
	c.w.model.mu.Lock()
	c.w.model.next++
	value := c.w.model.next
	c.w.model.mu.Unlock()
	p := c.hot()
	t.Ops = append(t.Ops, histories.Op{Key: p.key(), Write: int(value)})
	if register {
		return set(p, int(value))
	}
	return change(p, value)
}

// writeOutsideTxn runs a write outside of a transaction.
func (c *client) writeOutsideTxn(t *histories.Txn, register bool) {
	r, err := c.retried(c.write(t, register))
	t.Outcome = map[outcome]histories.Outcome{done: histories.Committed, refused: histories.Aborted, unknown: histories.Unknown}[c.judge("a write", r, err)]
}

// together runs a transaction of reads and writes.
func (c *client) together(t *histories.Txn, register bool) {
	c.txn++
	t.Outcome = histories.Aborted
	for i := range 2 + c.rng.IntN(3) {
		var cmd bson.D
		reads := c.rng.IntN(2) == 0
		if reads {
			p := c.hot()
			t.Ops = append(t.Ops, histories.Op{Key: p.key()})
			cmd = bson.D{{Key: "find", Value: p.coll}, {Key: "filter", Value: p.filter()}}
		} else {
			cmd = c.write(t, register)
		}
		more := []bson.E{{Key: "autocommit", Value: false}}
		if i == 0 {
			more = append(more, bson.E{Key: "startTransaction", Value: true}, bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}})
		}
		r, err := c.run(c.in(cmd, more...))
		if err != nil || r.code() != 0 {
			if err == nil && !r.label("TransientTransactionError") && r.code() != 16500 && !c.w.broken() {
				c.w.bad("a statement of a transaction: %s", r.Raw)
			}
			_, _ = c.runOn("admin", c.in(bson.D{{Key: "abortTransaction", Value: 1}}, bson.E{Key: "autocommit", Value: false}))
			return
		}
		if reads {
			t.Ops[len(t.Ops)-1].Read = valuesOf(r, register)
		}
		time.Sleep(time.Duration(c.rng.IntN(8)) * time.Millisecond)
	}
	t.Outcome = map[outcome]histories.Outcome{done: histories.Committed, refused: histories.Aborted, unknown: histories.Unknown}[c.commit()]
}

// recorded runs a simulation whose clients record histories, and returns the violations of snapshot isolation, the
// number of operations and the counts of events.
func recorded(t *testing.T, seed uint64, p plan) (wrong []string, operations int, sum counts) {
	dir, remove := scratch(t)
	defer remove()
	w := &world{seed: seed, plan: p, dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), model: newModel()}
	to := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		w.t = t
		if !w.boot(vfs.NewCrashableMem()) {
			return
		}
		w.prepare(nil)
		for range 2 {
			if !w.boot(w.spendOn(to)) {
				return
			}
		}
		c := w.newClient(906)
		defer c.hangUp()
		for _, register := range []bool{false, true} {
			last := histories.Txn{Begin: time.Now().UnixNano()}
			for _, coll := range []string{counters, plain} {
				for id := range int64(w.hotDocs()) {
					r, err := c.run(bson.D{{Key: "find", Value: coll}, {Key: "filter", Value: place{coll, id}.filter()}})
					if err != nil || r.code() != 0 {
						w.bad("the last reads: %v %s", err, r.Raw)
					}
					last.Ops = append(last.Ops, histories.Op{Key: place{coll, id}.key(), Read: valuesOf(r, register)})
				}
			}
			to.add(register, last)
		}
		w.net.dead.Store(true)
		w.disk.heal()
		w.end()
	})
	for _, text := range append(histories.Lists(to.lists), histories.Registers(to.registers)...) {
		w.bad("%s", text)
	}
	return w.wrong, to.operations, w.counts
}

// spendOn lets clients record until the power fails.
func (w *world) spendOn(to *recorder) *vfs.MemFS {
	var group sync.WaitGroup
	loss := []float64{0, 0.01}[w.rng.IntN(2)]
	for n := range 8 {
		c := w.newClient(n)
		c.loss = loss
		group.Go(func() { c.remember(to) })
	}
	group.Go(w.newClient(600).shape)
	w.disk.slowest = []time.Duration{time.Millisecond, 20 * time.Millisecond}[w.rng.IntN(2)]
	time.Sleep(time.Duration(5+w.rng.IntN(15)) * time.Second)
	files := w.cut([]int{0, 50, 100}[w.rng.IntN(3)])
	group.Wait()
	return files
}

// TestHistories records histories of lists and registers, in transactions and single writes, and checks them for
// violations of snapshot isolation. Meanwhile collections are split and resharded, budgets run out, connections
// break and the power fails.
func TestHistories(t *testing.T) {
	due := programme.Amount(t, "histories")
	first := programme.FirstSeed()
	n := 0
	var sum counts
	programme.RecordAtEnd(t, "histories", first, func() (int, string) {
		return n, fmt.Sprintf("%d transactions and %d single writes committed, %d refused by conflicts, %d by budgets, %d power cuts, %d splits, merges, reshardings and indexes", sum.transactions, sum.acknowledged, sum.refused, sum.throttled, sum.cuts, sum.structure)
	})
	across(t, first, func() bool { return n >= due }, func(t *testing.T, seed uint64) func() {
		wrong, operations, c := recorded(t, seed, plan{})
		for _, text := range wrong {
			t.Errorf("seed %d: %s", seed, text)
		}
		return func() { n += operations; sum.add(c) }
	})
}

// TestHistoriesCanary plants a bug: without the check for write conflicts at commit, updates are lost. The check of
// histories must find this.
func TestHistoriesCanary(t *testing.T) {
	for seed := range uint64(canarySeeds) {
		wrong, _, _ := recorded(t, 1+seed, plan{hotDocs: 2, wrap: func(s storage.Store) storage.Store { return reckless{s} }})
		if text := strings.Join(wrong, "; "); strings.Contains(text, "G-single") || strings.Contains(text, "lost update") {
			t.Logf("found by seed %d: %.300s", 1+seed, text)
			return
		}
	}
	t.Errorf("%d seeds did not find it", canarySeeds)
}

// reckless is a store that commits conflicting transactions.
type reckless struct{ storage.Store }

// Begin implements storage.Store.
func (s reckless) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := s.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &recklessTxn{Txn: t, s: s.Store}, nil
}

// recklessTxn records its writes.
type recklessTxn struct {
	storage.Txn
	s      storage.Store
	writes []func(t storage.Txn) error
}

func (t *recklessTxn) Set(key, value []byte) error {
	k, v := append([]byte(nil), key...), append([]byte(nil), value...)
	t.writes = append(t.writes, func(t storage.Txn) error { return t.Set(k, v) })
	return t.Txn.Set(key, value)
}

func (t *recklessTxn) Delete(key []byte) error {
	k := append([]byte(nil), key...)
	t.writes = append(t.writes, func(t storage.Txn) error { return t.Delete(k) })
	return t.Txn.Delete(key)
}

func (t *recklessTxn) AppendLog(stream, rec []byte) error {
	s, r := append([]byte(nil), stream...), append([]byte(nil), rec...)
	t.writes = append(t.writes, func(t storage.Txn) error { return t.AppendLog(s, r) })
	return t.Txn.AppendLog(stream, rec)
}

func (t *recklessTxn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	ts, err := t.Txn.Commit(ctx, d)
	for errors.Is(err, storage.ErrConflict) {
		again, beginErr := t.s.Begin(ctx, storage.TxnOptions{})
		if beginErr != nil {
			return 0, beginErr
		}
		for _, w := range t.writes {
			if err := w(again); err != nil {
				again.Close()
				return 0, err
			}
		}
		ts, err = again.Commit(ctx, d)
	}
	return ts, err
}
