package simulation

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/internal/testenv"
)

// hangsAfter is a real time that is longer than any simulation takes; a simulation that takes longer is in a
// deadlock.
const hangsAfter = time.Minute

// simulate runs a seed and returns the violations.
func simulate(t *testing.T, seed uint64, p plan) (wrong []string, c counts, trace string) {
	dir, remove := scratch(t)
	defer remove()
	alarm := time.AfterFunc(hangsAfter, func() {
		all := make([]byte, 16<<20)
		panic(fmt.Sprintf("seed %d: the virtual time stands still\n%s", seed, all[:runtime.Stack(all, true)]))
	})
	defer alarm.Stop()
	w := &world{seed: seed, plan: p, dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), model: newModel()}
	synctest.Test(t, func(t *testing.T) {
		w.t = t
		w.run()
	})
	return w.wrong, w.counts, w.trace.String()
}

// run runs the whole simulation, from the first start on an empty disk to the last checks.
func (w *world) run() {
	if !w.boot(vfs.NewCrashableMem()) {
		return
	}
	streams := []*stream{newStream(counters), newStream("")}
	w.prepare(streams)
	for range 2 + w.rng.IntN(3) {
		files := w.spend(streams)
		if !w.boot(files) {
			return
		}
		w.check(true)
		if len(w.wrong) > 0 {
			break
		}
	}
	if len(w.wrong) == 0 {
		w.charges()
		w.budget()
		f := w.check(false)
		w.last(streams, f)
	}
	w.net.dead.Store(true)
	w.disk.heal()
	w.end()
}

// prepare creates the collections, and then opens the streams.
func (w *world) prepare(streams []*stream) {
	c := w.newClient(902)
	defer c.hangUp()
	must := func(on string, cmd bson.D) {
		if r, err := c.runOn(on, cmd); err != nil || r.code() != 0 {
			w.t.Fatalf("%v: %v %s", cmd, err, r.Raw)
		}
	}
	must(db, bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: counters}, {Key: "offerThroughput", Value: 20000}, {Key: "shardKey", Value: "k"}})
	must("admin", bson.D{{Key: "shardCollection", Value: db + "." + things}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 3}})
	for _, coll := range []string{ledger, plain} {
		must(db, bson.D{{Key: "create", Value: coll}})
	}
	index := func(coll string, key bson.D, more ...bson.E) {
		must(db, bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{append(bson.D{{Key: "key", Value: key}, {Key: "name", Value: key[0].Key + "s"}}, more...)}}})
	}
	for _, coll := range []string{counters, plain} {
		index(coll, bson.D{{Key: "n", Value: 1}})
		index(coll, bson.D{{Key: "log", Value: 1}})
		for id := range int64(countersDocs) {
			doc := append(place{coll, id}.filter(), bson.E{Key: "n", Value: int64(0)}, bson.E{Key: "log", Value: bson.A{}})
			must(db, bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: bson.A{doc}}})
		}
	}
	index(things, bson.D{{Key: "v", Value: 1}})
	index(expiring, bson.D{{Key: "at", Value: 1}}, bson.E{Key: "expireAfterSeconds", Value: int(expiresAfter.Seconds())})
	must(db, bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: counters}, {Key: "offerThroughput", Value: 400 + 100*w.rng.IntN(30)}})
	for _, s := range streams {
		s.open(c)
	}
}

// spend runs clients for a random time, then cuts the power, which ends this life of the server, and returns what is
// left on the disk.
func (w *world) spend(streams []*stream) *vfs.MemFS {
	loss := []float64{0, 0, 0.02, 0.1}[w.rng.IntN(4)]
	var group sync.WaitGroup
	for n := range 3 + w.rng.IntN(5) {
		c := w.newClient(n)
		c.loss = loss
		group.Go(c.live)
	}
	for i, s := range streams {
		c := w.newClient(500 + i)
		c.loss = loss
		group.Go(func() { s.follow(c) })
	}
	if w.rng.IntN(4) > 0 {
		group.Go(w.newClient(600).shape)
	}
	w.disk.mu.Lock()
	w.disk.slowest = []time.Duration{time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}[w.rng.IntN(4)]
	if w.rng.IntN(3) == 0 {
		w.disk.failAt = w.disk.ops + 1 + w.rng.IntN(400)
	}
	w.disk.mu.Unlock()
	for end := time.Now().Add(time.Duration(500+w.rng.IntN(20_000)) * time.Millisecond); time.Now().Before(end); {
		select {
		case <-w.fatal:
			w.note("the log or the manifest cannot be written")
			w.counts.failures++
			end = time.Now()
		case <-time.After(time.Duration(w.rng.IntN(3000)) * time.Millisecond):
			w.tick()
			if w.rng.IntN(8) == 0 {
				w.jump.Add(int64(time.Duration(w.rng.IntN(7201)-3600) * time.Second))
				w.note("the clock jumps, it is %v now", w.now())
			}
			w.tick()
		}
	}
	files := w.cut([]int{0, 0, 50, 100}[w.rng.IntN(4)])
	group.Wait()
	return files
}

// broken reports whether an error may be caused by a fault of the disk or by the power cut.
func (w *world) broken() bool {
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	return w.disk.failed || w.net.dead.Load()
}

// last checks, at the end of a simulation, that the change streams have returned all changes, and that documents
// which expire have been deleted.
func (w *world) last(streams []*stream, f *found) {
	c := w.newClient(903)
	defer c.hangUp()
	for _, s := range streams {
		missing := ""
		for range 50 {
			s.some(c, 5)
			if missing = s.complete(f); missing == "" {
				break
			}
		}
		if missing != "" {
			w.bad("stream %q: %s", s.coll, missing)
		}
	}
	w.tick()
	w.jump.Store(int64(max(time.Until(w.model.wall), 0)))
	time.Sleep(expiresAfter + time.Minute)
	if rows := c.all(expiring); len(rows) > 0 {
		w.bad("%d documents did not expire, the first is %s and it is %v", len(rows), rows[0], w.now())
	}
	w.validate(c, expiring)
}

// TestSeeds runs simulations of consecutive seeds. A failure prints the command that runs its seed again.
func TestSeeds(t *testing.T) {
	if seed, ok := testenv.Seed(t); ok {
		found, c, trace := simulate(t, seed, plan{})
		t.Logf("%s%s", trace, &c)
		for _, f := range found {
			t.Error(f)
		}
		return
	}
	seeds := uint64(programme.Amount(t, "simulation"))
	first := programme.FirstSeed()
	var sum counts
	n := 0
	programme.RecordAtEnd(t, "simulation", first, func() (int, string) { return n, sum.String() })
	begun := uint64(0)
	across(t, first, func() bool { begun++; return begun > seeds }, func(t *testing.T, seed uint64) func() {
		found, c, _ := simulate(t, seed, plan{})
		for _, f := range found {
			t.Errorf("seed %d: %s\nto repeat: CANTLE_SEED=%d go test ./compat-tests/consistency/simulation -run TestSeeds -v", seed, f, seed)
		}
		return func() { n++; sum.add(c) }
	})
	if seeds >= 20 && (sum.cuts == 0 || sum.transactions == 0 || sum.structure == 0 || sum.throttled == 0 || sum.events == 0 || sum.expired == 0 || sum.failures == 0 || sum.lost == 0 || sum.browsed == 0) {
		t.Errorf("something never happened: %+v", sum)
	}
}
