package cursors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// The collections that the writers of a run change. docs is also resharded. more has many cursors that stay open.
// tail and small are capped: tail has room for all documents, small does not. beside is in another database.
const (
	docs   = "moving.docs"
	more   = "moving.more"
	tail   = "moving.tail"
	small  = "capped.small"
	beside = "beside.docs"
)

// keysEach is the number of keys that belong to one writer, if it changes documents. Other writers only insert, with
// new keys.
const keysEach = 40

// world is one run of the test: its servers, its clients, and everything that the clients have changed and read, for
// the checks at the end.
type world struct {
	*testing.T
	*servers
	all    *mongo.Client   // has the addresses of all servers
	direct []*mongo.Client // each has the address of one server
	seed   uint64
	killed bool // true if servers are killed in the run
	began  time.Time

	version atomic.Int64
	know    sync.Mutex
	changes map[string][]histories.Change
	counts  map[string]int
	seen    []seen
	wrong   []string
}

// now returns the time since the start of the run in nanoseconds; it is never 0.
func (w *world) now() int64 { return 1 + time.Since(w.began).Nanoseconds() }

// did adds to a count.
func (w *world) did(what string, n int) {
	w.know.Lock()
	defer w.know.Unlock()
	w.counts[what] += n
}

// bad records a violation. A canary needs at least one.
func (w *world) bad(format string, args ...any) {
	w.know.Lock()
	defer w.know.Unlock()
	if len(w.wrong) < 40 {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

// changed records changes.
func (w *world) changed(ns string, list ...histories.Change) {
	w.know.Lock()
	defer w.know.Unlock()
	w.changes[ns] = append(w.changes[ns], list...)
}

// of returns the changes of some collections.
func (w *world) of(names ...string) (out []histories.Change) {
	w.know.Lock()
	defer w.know.Unlock()
	for _, ns := range names {
		out = append(out, w.changes[ns]...)
	}
	return out
}

// coll returns a collection through a client.
func coll(c *mongo.Client, ns string) *mongo.Collection {
	db, name, _ := strings.Cut(ns, ".")
	return c.Database(db).Collection(name)
}

// any returns a client of a random server.
func (w *world) any(r *rand.Rand) *mongo.Client { return w.direct[r.IntN(len(w.direct))] }

// away reports whether err is explained by a killed server, in a run that kills servers; such errors are no failures
// of the test.
func (w *world) away(err error) bool {
	if !w.killed || err == nil {
		return false
	}
	var said mongo.ServerError
	if !errors.As(err, &said) {
		return true
	}
	return said.HasErrorLabel("NetworkError") || said.HasErrorLabel("RetryableWriteError") || said.HasErrorLabel("TransientTransactionError") ||
		said.HasErrorLabel("UnknownTransactionCommitResult") || said.HasErrorLabel("ResumableChangeStreamError") || code(err, 43, 91, 11600, 189)
}

// code reports whether err is an error reply of the server with one of the given codes.
func code(err error, codes ...int) bool {
	var said mongo.ServerError
	return errors.As(err, &said) && slices.ContainsFunc(codes, said.HasErrorCode)
}

// sleep waits, and reports whether ctx is still valid.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// prepare makes the collections.
func (w *world) prepare(ctx context.Context) {
	run := func(db string, cmd bson.D) {
		if err := w.all.Database(db).RunCommand(ctx, cmd).Err(); err != nil {
			w.Fatalf("%v: %v", cmd, err)
		}
	}
	for _, ns := range []string{docs, more} {
		run("moving", bson.D{{Key: "create", Value: coll(w.all, ns).Name()}, {Key: "changeStreamPreAndPostImages", Value: on("enabled", true)}})
		run("admin", bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: on("_id", "hashed")}})
	}
	run("beside", bson.D{{Key: "create", Value: "docs"}})
	run("moving", bson.D{{Key: "create", Value: "tail"}, {Key: "capped", Value: true}, {Key: "size", Value: 64 << 20}})
	run("capped", bson.D{{Key: "create", Value: "small"}, {Key: "capped", Value: true}, {Key: "size", Value: 1 << 20}, {Key: "max", Value: 150}})
	for _, ns := range []string{docs, more} {
		if _, err := coll(w.all, ns).Indexes().CreateMany(ctx, []mongo.IndexModel{{Keys: on("g", 1)}, {Keys: on("v", 1)}}); err != nil {
			w.Fatal(err)
		}
	}
}

// move splits, merges, moves and indexes docs and more, and reshards docs, at random until ctx ends. A command may be
// refused, for example because another one is in progress.
func (w *world) move(ctx context.Context) {
	r := rand.New(rand.NewPCG(w.seed, 1))
	admin := w.all.Database("admin")
	for sleep(ctx, time.Duration(r.IntN(60))*time.Millisecond) {
		ns := []string{docs, docs, more}[r.IntN(3)]
		at := bson.E{Key: "find", Value: document(r.IntN(4*keysEach), 0)[:3]}
		to := bson.E{Key: "to", Value: fmt.Sprintf("p%d", r.IntN(4))}
		var cmd bson.D
		what := ""
		switch n := r.IntN(8); n {
		case 0, 1:
			what, cmd = "splits", bson.D{{Key: "split", Value: ns}, at}
		case 2:
			what, cmd = "merges", bson.D{{Key: "mergeAllChunksOnShard", Value: ns}, {Key: "shard", Value: to.Value}}
		case 3, 4:
			what, cmd = "moves", bson.D{{Key: "moveChunk", Value: ns}, at, to}
		case 5:
			key := []bson.D{on("_id", "hashed"), on("g", 1), on("_id", 1)}[r.IntN(3)]
			what, cmd = "reshards", bson.D{{Key: "reshardCollection", Value: docs}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 1 + r.IntN(3)}, {Key: "forceRedistribution", Value: true}}
		default:
			view, field := coll(w.all, ns).Indexes(), []string{"h", "filler"}[r.IntN(2)]
			var err error
			if n == 6 {
				_, err = view.CreateOne(ctx, mongo.IndexModel{Keys: on(field, 1)})
			} else {
				err = view.DropOne(ctx, field+"_1")
			}
			if err == nil {
				w.did("indexes", 1)
			}
			continue
		}
		if err := admin.RunCommand(ctx, cmd).Err(); err == nil {
			w.did(what, 1)
		}
	}
}

// kills kills a random server now and then until ctx ends. With several servers the intervals are longer, so that
// the others have time to take over its jobs.
func (w *world) kills(ctx context.Context) {
	r := rand.New(rand.NewPCG(w.seed, 2))
	for sleep(ctx, time.Duration(800+r.IntN(1200))*time.Millisecond*time.Duration(len(w.direct))) {
		w.kill(r)
	}
}

// last is the client and the key of the final documents, which are written at the end of a run, one in each
// collection. A reader that has read one of them has also read all changes that were acknowledged before.
const last = 1_000_000_000

// finish writes the final documents.
func (w *world) finish(ctx context.Context) {
	for _, ns := range []string{more, beside, tail, small, docs} {
		p := &writer{world: w, client: last, ns: ns, has: map[int]int{}, r: rand.New(rand.NewPCG(w.seed, 3))}
		if ns == tail || ns == small {
			p.append(ctx, last)
			continue
		}
		p.single(ctx, p.draw(last))
	}
}

// settled checks, at the end of a run, the collections that are not capped: their documents must be those that were
// written, and their indexes must agree with the documents by the command validate.
func (w *world) settled(ctx context.Context) {
	for _, ns := range []string{docs, more, beside} {
		want := map[int]int{}
		for _, x := range w.of(ns) {
			if want[x.Key] = x.Version; x.Removes {
				delete(want, x.Key)
			}
		}
		has, err := content(ctx, coll(w.all, ns))
		if err != nil || !maps.Equal(has, want) {
			w.bad("%s has %d documents in the end, and not the %d that were written: %v", ns, len(has), len(want), err)
		}
		var reply struct{ Valid bool }
		db := coll(w.all, ns).Database()
		if err := db.RunCommand(ctx, bson.D{{Key: "validate", Value: coll(w.all, ns).Name()}, {Key: "full", Value: true}}).Decode(&reply); err != nil || !reply.Valid {
			w.bad("validate %s: valid %v, %v", ns, reply.Valid, err)
		}
	}
}

// run does one run.
func (w *world) run(ctx context.Context, length time.Duration) {
	w.prepare(ctx)
	followers, err := w.followers(ctx)
	if err != nil {
		w.Fatal(err)
	}
	open := w.crowd(ctx)
	working, stop := context.WithTimeout(ctx, length)
	defer stop()
	var group, kills sync.WaitGroup
	for i := range 4 {
		group.Go(func() { w.writer(i, docs).work(working, ctx) })
	}
	group.Go(func() { w.writer(4, more).work(working, ctx) })
	group.Go(func() { w.writer(5, beside).work(working, ctx) })
	for i := range 3 {
		group.Go(func() { w.writer(10+i, tail).work(working, ctx) })
		group.Go(func() { w.writer(20+i, small).work(working, ctx) })
	}
	for i := range 2 {
		group.Go(func() { w.transactions(working, ctx, 30+i) })
	}
	for i := range 3 {
		d := &reads{world: w, r: rand.New(rand.NewPCG(w.seed, uint64(40+i)))}
		group.Go(func() { d.work(working, ctx) })
	}
	var tails tails
	for i := range 4 {
		group.Go(func() { w.tail(working, ctx, rand.New(rand.NewPCG(w.seed, uint64(50+i))), &tails) })
	}
	for i, f := range followers {
		group.Go(func() { f.work(working, ctx, rand.New(rand.NewPCG(w.seed, uint64(60+i)))) })
	}
	group.Go(func() { w.move(working) })
	if w.killed {
		kills.Go(func() { w.kills(working) })
	}
	group.Wait()
	kills.Wait()
	w.finish(ctx)
	w.settled(ctx)
	w.drain(ctx, open)
	w.judgeReads()
	w.judgeTails(ctx, &tails)
	for i, f := range followers {
		f.end(ctx, rand.New(rand.NewPCG(w.seed, uint64(80+i))))
	}
}

// TestMoving is described in the comment of the package.
func TestMoving(t *testing.T) {
	seed, rows := firstSeed(t), 0
	sum := map[string]int{}
	programme.RecordAtEnd(t, "cursors", seed, func() (int, string) {
		return rows, fmt.Sprintf("%d kills; %s; %s rows", sum["kills"], tallied(sum), programme.None(t, "wrong"))
	})
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			for begun := time.Now(); ; seed++ {
				length := min(due(e.share), roundMax)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				w := newWorld(t, e, seed)
				w.run(ctx, length)
				cancel()
				for _, text := range w.wrong {
					t.Errorf("CANTLE_SEED=%d: %s", w.seed, text)
				}
				t.Logf("CANTLE_SEED=%d: %d kills, %s", w.seed, w.servers.kills, tallied(w.counts))
				for _, what := range []string{"changes", "transactions", "reads", "events", "resumed", "tailed"} {
					if w.counts[what] == 0 {
						t.Errorf("no %s", what)
					}
				}
				rows += w.counts["rows"] + w.counts["events"] + w.counts["tailed"]
				w.counts["kills"] = w.servers.kills
				for what, n := range w.counts {
					sum[what] += n
				}
				w.stop()
				if t.Failed() || time.Since(begun)+length > due(e.share) {
					return
				}
			}
		})
	}
}

// roundMax is the maximum duration of one run. A longer test has several runs, because the check at the end takes
// longer the more events there are.
const roundMax = 10 * time.Second

// tallied returns counts as one line, sorted by name.
func tallied(counts map[string]int) string {
	var b strings.Builder
	for i, what := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", counts[what], what)
	}
	return b.String()
}

// newWorld starts the servers of a run.
func newWorld(t *testing.T, e engine, seed uint64) *world {
	s := e.start(t)
	w := &world{T: t, servers: s, seed: seed, killed: e.name != "memory", began: time.Now(), changes: map[string][]histories.Change{}, counts: map[string]int{}, all: s.client(t)}
	for i := range s.list {
		w.direct = append(w.direct, (&servers{list: s.list[i : i+1]}).client(t))
	}
	return w
}
