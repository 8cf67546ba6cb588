package isolation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

const clients = 16

// duration returns the duration of a workload.
func duration() time.Duration {
	return 2 * time.Second
}

// fixture is a server with a client and an empty collection.
type fixture struct {
	*testing.T
	ctx    context.Context
	client *mongo.Client
	coll   *mongo.Collection
	// several means that several servers share the data, and that the client may use each of them.
	several bool
	kills   func(ctx context.Context) // kills and restarts the server meanwhile, nil = no kills
}

// each runs a test on an unsharded collection and on a collection of seven shards.
func each(t *testing.T, test func(f *fixture)) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	for _, name := range []string{"unsharded", "sharded"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+2*duration())
			defer cancel()
			f := &fixture{T: t, ctx: ctx, client: client, coll: client.Database("isolation").Collection(name), several: len(server.Peers) > 0}
			if name == "sharded" {
				f.ok(client.Database("admin").RunCommand(ctx, bson.D{{Key: "shardCollection", Value: "isolation." + name},
					{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 7}}).Err())
			}
			test(f)
			_, err := f.coll.DeleteMany(ctx, bson.D{})
			f.ok(err)
		})
	}
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func id(n int) bson.D { return bson.D{{Key: "_id", Value: n}} }

func set(op, field string, v any) bson.D {
	return bson.D{{Key: op, Value: bson.D{{Key: field, Value: v}}}}
}

// run lets clients work until the time is over.
func (f *fixture) run(work func(client int, rng *rand.Rand) error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, duration())
	defer cancel()
	var group sync.WaitGroup
	if f.kills != nil {
		group.Go(func() { f.kills(ctx) })
	}
	for c := range clients {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), uint64(time.Now().UnixNano())))
			for ctx.Err() == nil {
				if err := work(c, rng); err != nil && !f.lost(err) {
					f.Errorf("client %d: %v", c, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// transact runs body in a transaction, once.
func (f *fixture) transact(body func(ctx context.Context) error) (histories.Outcome, error) {
	s, err := f.client.StartSession()
	if err != nil {
		return histories.Aborted, err
	}
	defer s.EndSession(f.ctx)
	if err := s.StartTransaction(); err != nil {
		return histories.Aborted, err
	}
	ctx := mongo.NewSessionContext(f.ctx, s)
	if err := body(ctx); err != nil {
		_ = s.AbortTransaction(ctx)
		return histories.Aborted, err
	}
	if err := s.CommitTransaction(ctx); err != nil {
		var server mongo.ServerError
		if errors.As(err, &server) && server.HasErrorLabel("UnknownTransactionCommitResult") {
			return histories.Unknown, err
		}
		return histories.Aborted, err
	}
	return histories.Committed, nil
}

// transient reports whether an error has the label TransientTransactionError, after which a client retries
// its transaction.
func transient(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorLabel("TransientTransactionError")
}

// TestBank runs transactions that move money between accounts; every reader must see the same total.
func TestBank(t *testing.T) { each(t, bank) }

func bank(f *fixture) {
	const accounts, each = 12, 100
	for i := range accounts {
		_, err := f.coll.InsertOne(f.ctx, bson.D{{Key: "_id", Value: i}, {Key: "balance", Value: each}})
		f.ok(err)
	}
	sum := func(ctx context.Context) (total int, err error) {
		cursor, err := f.coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(5))
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
	var moved, conflicts, looks atomic.Int64
	f.run(func(c int, rng *rand.Rand) error {
		if c < 3 { // readers by find, by aggregate, and outside of transactions
			var total int
			look := func(ctx context.Context) (err error) {
				if c != 1 {
					total, err = sum(ctx)
					return err
				}
				cursor, err := f.coll.Aggregate(ctx, mongo.Pipeline{{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: "$balance"}}}}}}})
				if err != nil {
					return err
				}
				var docs []struct{ N int }
				if err := cursor.All(ctx, &docs); err != nil || len(docs) != 1 {
					return errors.Join(err, errors.New("no sum"))
				}
				total = docs[0].N
				return nil
			}
			var err error
			if c == 2 {
				err = look(f.ctx)
			} else {
				_, err = f.transact(look)
			}
			if err == nil && total != accounts*each {
				f.Errorf("client %d sees %d in all", c, total)
			}
			looks.Add(1)
			return err
		}
		from, to, n := rng.IntN(accounts), rng.IntN(accounts), 1+rng.IntN(5)
		_, err := f.transact(func(ctx context.Context) error {
			if _, err := f.coll.UpdateOne(ctx, id(from), set("$inc", "balance", -n)); err != nil {
				return err
			}
			_, err := f.coll.UpdateOne(ctx, id(to), set("$inc", "balance", n))
			return err
		})
		if transient(err) {
			conflicts.Add(1)
			return nil
		}
		if err == nil {
			moved.Add(1)
		}
		return err
	})
	if total, err := sum(f.ctx); err != nil || total != accounts*each {
		f.Errorf("%d in the end, %v", total, err)
	}
	f.Logf("%d transfers, %d conflicts, %d looks", moved.Load(), conflicts.Load(), looks.Load())
	if moved.Load() == 0 || looks.Load() == 0 {
		f.Error("nothing happened")
	}
}

// TestAppend runs transactions that append unique values to lists and read lists, and checks the recorded history: a
// list shows the order of the appends to it.
func TestAppend(t *testing.T) { each(t, appends) }

func appends(f *fixture) {
	const keys = 8
	began := time.Now()
	var mu sync.Mutex
	var history []histories.Txn
	var values atomic.Int64
	// appendTo and readOf run the two kinds of operations.
	appendTo := func(ctx context.Context, a histories.Op) error {
		_, err := f.coll.UpdateOne(ctx, id(a.Key), set("$push", "list", a.Write), options.UpdateOne().SetUpsert(true))
		return err
	}
	readOf := func(ctx context.Context, a *histories.Op) error {
		var doc struct{ List []int }
		err := f.coll.FindOne(ctx, id(a.Key)).Decode(&doc)
		if errors.Is(err, mongo.ErrNoDocuments) {
			err = nil
		}
		a.Read = doc.List
		return err
	}
	f.run(func(_ int, rng *rand.Rand) error {
		t := histories.Txn{Ops: make([]histories.Op, 1+rng.IntN(4)), Begin: time.Since(began).Nanoseconds()}
		for i := range t.Ops {
			t.Ops[i].Key = rng.IntN(keys)
			if rng.IntN(2) == 0 {
				t.Ops[i].Write = int(values.Add(1))
			}
		}
		var err error
		if len(t.Ops) == 1 && t.Ops[0].Write != 0 { // a single write outside of a transaction
			err = appendTo(f.ctx, t.Ops[0])
		} else {
			t.Outcome, err = f.transact(func(ctx context.Context) error {
				for i := range t.Ops {
					a := &t.Ops[i]
					var err error
					if a.Write != 0 {
						err = appendTo(ctx, *a)
					} else {
						err = readOf(ctx, a)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil && len(t.Ops) == 1 && t.Ops[0].Write != 0 && f.lost(err) {
			t.Outcome = histories.Unknown
		}
		if transient(err) || t.Outcome == histories.Unknown {
			err = nil
		}
		if t.Outcome == histories.Committed && err == nil {
			t.End = time.Since(began).Nanoseconds()
		}
		mu.Lock()
		history = append(history, t)
		mu.Unlock()
		return err
	})
	n := 0
	for _, t := range history {
		if t.Outcome == histories.Committed {
			n++
		}
	}
	f.Logf("%d transactions, %d committed", len(history), n)
	if n == 0 {
		f.Error("nothing was committed")
	}
	final := histories.Txn{}
	for k := range keys {
		a := histories.Op{Key: k}
		f.ok(readOf(f.ctx, &a))
		final.Ops = append(final.Ops, a)
	}
	for _, v := range histories.Lists(append(history, final)) {
		f.Error(v)
	}
}

// register is an operation on one document.
type register struct {
	key, value int
	kind       string // read, write, swap
	old        int    // swap writes value only over it
}

// noAnswer is the recorded output of a write whose outcome is undetermined: it takes effect some time after the
// call, or never.
const noAnswer = -1

// TestRegisters checks that operations on single documents, which many clients read, write and swap, are
// linearizable.
func TestRegisters(t *testing.T) { each(t, registers) }

func registers(f *fixture) {
	model := porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[int][]porcupine.Operation{}
			for _, o := range history {
				k := o.Input.(register).key
				by[k] = append(by[k], o)
			}
			var out [][]porcupine.Operation
			for _, part := range by {
				out = append(out, part)
			}
			return out
		},
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			in, now := input.(register), state.(int)
			switch in.kind {
			case "read":
				return output.(int) == now, now
			case "write":
				return true, in.value
			}
			if output.(int) == noAnswer { // undetermined; it has no effect if the old value does not match
				if now == in.old {
					return true, in.value
				}
				return true, now
			}
			if swapped := output.(int) == 1; !swapped || now != in.old {
				return !swapped && now != in.old, now
			}
			return true, in.value
		},
	}
	// Only linearizable reads are used: reads of other levels can return writes that are not on disk yet, and that a
	// crash takes back.
	coll := f.coll.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
	const keys = 6
	for k := range keys {
		_, err := f.coll.InsertOne(f.ctx, bson.D{{Key: "_id", Value: k}, {Key: "v", Value: 0}})
		f.ok(err)
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	var seat atomic.Int64 // a client without a reply continues under a new number
	began := time.Now()
	f.run(func(c int, rng *rand.Rand) error {
		in := register{key: rng.IntN(keys), value: rng.IntN(5), old: rng.IntN(5), kind: []string{"read", "write", "swap"}[rng.IntN(3)]}
		out, call := 0, time.Since(began).Nanoseconds()
		var err error
		switch in.kind {
		case "read":
			var doc struct{ V int }
			err = coll.FindOne(f.ctx, id(in.key)).Decode(&doc)
			out = doc.V
		case "write":
			_, err = f.coll.UpdateOne(f.ctx, id(in.key), set("$set", "v", in.value))
		case "swap":
			var r *mongo.UpdateResult
			r, err = f.coll.UpdateOne(f.ctx, bson.D{{Key: "_id", Value: in.key}, {Key: "v", Value: in.old}}, set("$set", "v", in.value))
			if err == nil {
				out = int(r.MatchedCount)
			}
		}
		back := time.Since(began).Nanoseconds()
		if err != nil {
			if !f.lost(err) || in.kind == "read" {
				return err
			}
			out, back = noAnswer, math.MaxInt64
		}
		mu.Lock()
		history = append(history, porcupine.Operation{ClientId: int(seat.Add(1)), Input: in, Call: call, Output: out, Return: back})
		mu.Unlock()
		time.Sleep(time.Millisecond) // keeps the check short
		return nil
	})
	f.Logf("%d operations", len(history))
	if got := porcupine.CheckOperationsTimeout(model, history, 30*time.Second); got == porcupine.Illegal {
		f.Error("the history has no order")
	}
}
