package differential

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// questionsPerSet is the number of queries for one set of documents before the writes. After the writes, a quarter
// of this number follows.
const questionsPerSet = 40

// findingsMost is the number of wrong answers after which a run ends.
const findingsMost = 8

// waysMost is the time limit of TestWays in each run and at night, also on a busy machine. In longer runs (other
// columns of FAULTS.md) only the number of comparisons ends the test.
var waysMost = map[string]time.Duration{programme.Run: 2 * time.Minute, programme.Nightly: time.Hour}

// noSpilling is the error code of a stage that cannot spill and exceeds its memory limit.
const noSpilling = 292

// tightParameters make a server spill at once.
var tightParameters = []string{"internalQueryMaxBlockingSortMemoryUsageBytes", "internalDocumentSourceGroupMaxMemoryBytes"}

// TestWays checks that a query has the same answer for the same documents, in whatever way they are stored (the ways
// of ways_test.go).
func TestWays(t *testing.T) {
	if testenv.Storage() != "" {
		t.Skip("its row of the fault programme is of memory: transactions of a cluster may end for reasons of their own")
	}
	due := programme.Amount(t, "ways")
	f := &fuzzer{t: t, first: programme.FirstSeed(), counts: map[string]int{}, found: map[string]bool{}, most: findingsMost}
	sets, most := uint64(1<<40), cmp.Or(waysMost[programme.Column()], 1<<62)
	if seed, ok := testenv.Seed(t); ok {
		f.first, sets = seed, 1
	}
	if os.Getenv(harness.Planted) != "" {
		f.most = 1
	}
	programme.RecordAtEnd(t, "ways", f.first, func() (int, string) {
		return int(f.done.Load()), fmt.Sprintf("%d sets of documents; %s that differ", f.sets.Load(), programme.None(t, "answers"))
	})
	f.roomy, f.cramped = harness.Start(t, harness.Options{}), harness.Start(t, harness.Options{Args: []string{"--enable-test-commands"}})
	for _, s := range []*harness.Server{f.roomy, f.cramped} { // a set may take longer than a minute
		c, err := dial(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.must("admin", bson.D{{Key: "setParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: int32(3600)}}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := dial(f.cramped.Addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tightParameters {
		if _, err := c.must("admin", bson.D{{Key: "setParameter", Value: 1}, {Key: p, Value: int64(2000)}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.must("admin", bson.D{{Key: "configureFailPoint", Value: "parkCursors"}, {Key: "mode", Value: "alwaysOn"}}); err != nil {
		t.Fatal(err)
	}
	f.places = newPlaces(t)
	f.begun = time.Now()
	var group sync.WaitGroup
	for range min(4, 1+runtime.NumCPU()) {
		group.Go(func() {
			for {
				n := f.next.Add(1) - 1
				if n >= sets || f.done.Load() >= int64(due) || f.full() || time.Since(f.begun) > most {
					return
				}
				if err := f.set(f.first + n); err != nil {
					f.report(fmt.Sprint(err), fmt.Sprintf("CANTLE_SEED=%d: %v", f.first+n, err))
					return
				}
			}
		})
	}
	group.Wait()
	t.Logf("first CANTLE_SEED=%d: %d comparisons with %d sets of documents in %v\n%s", f.first, f.done.Load(), f.sets.Load(), time.Since(f.begun).Round(time.Millisecond), f.table())
}

// fuzzer is one run.
type fuzzer struct {
	t              *testing.T
	first          uint64
	roomy, cramped *harness.Server
	places         *places
	most           int
	begun          time.Time

	next atomic.Uint64
	sets atomic.Int64
	done atomic.Int64

	mu     sync.Mutex
	counts map[string]int // comparisons by kind, by way, by manner
	found  map[string]bool
}

// full reports whether enough has been found.
func (f *fuzzer) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.found) >= f.most
}

// report fails the test, once for each kind of finding.
func (f *fuzzer) report(kind, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found[kind] {
		return
	}
	f.found[kind] = true
	f.t.Errorf("after %d comparisons in %v: %s", f.done.Load(), time.Since(f.begun).Round(time.Millisecond), text)
}

// counted counts comparisons.
func (f *fuzzer) counted(of ...string) {
	f.done.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range of {
		f.counts[s]++
	}
}

// table prints the counts.
func (f *fuzzer) table() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(f.counts)) {
		fmt.Fprintf(&b, "%8d %s\n", f.counts[k], k)
	}
	return b.String()
}

// round is one set of documents in all ways.
type round struct {
	*fuzzer
	drawer
	*set
	initial []bson.D // the documents before the writes
	kept    []*populatedWay
	drawn   [][]index
	writes  []*write // applied in all ways
}

// set draws a set of documents by a seed, stores it in the ways that allow it, and sends random queries and writes to
// those that support them.
func (f *fuzzer) set(seed uint64) error {
	d := drawer{Rand: rand.New(rand.NewPCG(seed, 1))}
	d.large = d.rarely(4)
	d.odd = d.rarely(3)
	d.dated = d.rarely(3)
	if d.rarely(3) {
		d.common = d.commonKey()
	}
	r := &round{fuzzer: f, drawer: d, set: &set{seed: seed, db: fmt.Sprintf("set%d", seed), dated: d.dated, needs: d.rarely(4)}}
	n := 10 + d.IntN(50)
	if d.large {
		n = 250 + d.IntN(250)
	}
	for i := range n {
		r.docs = append(r.docs, d.document(i))
	}
	for i := range 5 + d.IntN(25) {
		r.foreign = append(r.foreign, d.document(i))
	}
	for range ways {
		drawn := d.indexes()
		if d.common != nil {
			drawn = append([]index{d.commonIndex()}, drawn...)
		}
		r.drawn = append(r.drawn, drawn)
	}
	r.initial = r.docs
	if err := r.launch(); err != nil {
		return err
	}
	if err := r.dial(); err != nil {
		return err
	}
	defer r.end()
	if err := r.populateAll(); err != nil {
		return err
	}
	if err := r.ask(questionsPerSet); err != nil {
		return err
	}
	if err := r.write(writesPerSet); err != nil {
		return err
	}
	if err := r.ask(questionsPerSet / 4); err != nil {
		return err
	}
	f.sets.Add(1)
	return f.walk(seed)
}

// launch starts the servers that the ways of this set need and that do not run yet. It is done first, because it
// takes longer than a server waits for the first message of a connection, and than transactions may last.
func (r *round) launch() error {
	for _, w := range ways {
		if w.place != "" && w.in(r.set) {
			if _, err := r.fuzzer.places.of(w.place); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return nil
}

// dial opens the connections of a set.
func (r *round) dial() (err error) {
	if r.normal, err = dial(r.roomy.Addr); err != nil {
		return err
	}
	r.set.places, r.scratch = r.fuzzer.places, r.t.TempDir
	r.tight, err = dial(r.cramped.Addr)
	return err
}

// end closes the connections of a set of documents and drops its databases.
func (r *round) end() {
	for _, k := range r.kept {
		k.close()
	}
	for _, c := range []*conn{r.normal, r.tight} {
		_, _ = c.run(r.db, bson.D{{Key: "dropDatabase", Value: 1}})
		_ = c.Close()
	}
}

// populateAll stores the set in all ways.
func (r *round) populateAll() error {
	for i, w := range ways {
		if !w.in(r.set) {
			continue
		}
		k, err := r.set.populate(w, i, r.drawn[i])
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		r.kept = append(r.kept, k)
	}
	return nil
}

// manner draws how a query is sent to one way of storage: the batch size, a hint, an equivalent form and others.
func (r *round) manner(q *question, k *populatedWay) (m manner) {
	m.batch = oneOf(r.drawer, int32(0), 0, 0, 1, 2, 101)
	if q.kind == "distinct" || q.kind == "count" {
		m.batch = 0
	}
	if r.rarely(3) && !(r.large && r.rarely(2)) {
		w := rewrites[r.IntN(len(rewrites))]
		if r.rarely(4) {
			w = oneOf(r.drawer, backwards...)
		}
		if mayRewrite(q, w, r.docs) && (w.in == nil || w.in(k)) && !(k.inTransaction && (w.name == "$unionWith" || w.name == "$out and read")) && !((k.hasCollation || k.concern != nil) && w.name == "$out and read") {
			m.rewrite, m.aside = w, r.filter(1)
			if w.of != nil && k.bounded() && q.collation == nil && r.rarely(2) {
				m.hint = common
			}
			return m
		}
	}
	kind := r.IntN(8)
	if r.large && r.rarely(3) {
		kind = 3
	}
	if q.bounds != nil && kind < 3 { // min and max require their own hint
		return m
	}
	switch kind {
	case 0:
		if !q.needs && !k.view {
			m.hint = one("$natural", r.direction())
		}
	case 1, 2:
		if x := k.indexes; len(x) > 0 && !q.needs && !k.view {
			if i := x[r.IntN(len(x))]; i.plain() && q.collation == nil {
				m.hint = i.name()
			}
		}
	case 3:
		if !q.needs && q.filter != nil {
			for range 3 {
				w := *q
				w.filter = r.alike(q.filter).(bson.D)
				m.warm = append(m.warm, &w)
			}
		}
	case 4:
		if r.rarely(8) && m.batch > 0 && m.batch < 101 {
			m.parked = true
		}
	}
	return m
}

// alike returns a filter of the same shape as v, with other operands, so that both share a cached plan.
func (d drawer) alike(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := bson.D{}
		for _, e := range v {
			out = append(out, bson.E{Key: e.Key, Value: d.alike(e.Value)})
		}
		return out
	case bson.A:
		out := bson.A{}
		for _, e := range v {
			out = append(out, d.alike(e))
		}
		return out
	case int32:
		if d.large { // a value that few documents have
			return int32(1)
		}
		if v >= 0 && v < 4 {
			return int32(d.IntN(4))
		}
	case string:
		if v != "" && v[0] != '$' && len(v) < 3 {
			return d.text()
		}
	}
	return v
}

// Sends n questions to all ways.
func (r *round) ask(n int) error {
	for range n {
		if r.full() {
			return nil
		}
		q := r.question(r.needs)
		first := r.first(q)
		if first == nil {
			continue
		}
		want, err := first.send(q, manner{})
		if err != nil {
			return fmt.Errorf("%s: %w", q.script(), err)
		}
		if model, ok := modelled(q, r.docs); ok && want.code == 0 {
			r.counted("kind "+q.String(), "way evaluator")
			if !q.same(want, model) {
				r.differs(&trial{seed: r.seed, docs: r.docs, foreign: r.foreign, q: q, way: nil, needs: r.needs, want: want, got: model})
			}
		}
		if len(want.rows) > rowsMost { // rowsMost would cut off a correct cursor
			continue
		}
		var list []*asking
		for _, k := range r.kept {
			if !k.out && (k.supports == nil || k.supports(q)) && k.takesBounds(q, r.docs) {
				k.nextServer()
				k.between(false)
				list = append(list, &asking{k: k, m: r.manner(q, k)})
			}
		}
		if err := sendTogether(q, list); err != nil {
			return fmt.Errorf("%s: %w", q.script(), err)
		}
		for _, a := range list {
			r.counted("kind "+q.String(), "way "+a.k.name, a.m.String())
			if !a.k.way.same(q, want, a.answer) && a.code != -5 && !a.k.way.excuses(a.code) {
				r.differs(r.trial(a.k, &trial{q: q, m: a.m, asked: a.k.asked, want: want, got: a.answer}))
			}
			if a.code != 0 {
				if err := r.restore(a.k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// trial completes a trial x, a wrong answer in the way k, with the documents, indexes and writes of this round, so
// that it can be repeated.
func (r *round) trial(k *populatedWay, x *trial) *trial {
	x.seed, x.docs, x.foreign, x.needs = r.seed, r.initial, r.foreign, r.needs
	x.way, x.at, x.indexes = k.way, slices.Index(r.kept, k), k.indexes
	if x.writes == nil {
		x.writes = r.writes
	}
	return x
}

// String returns the name of a manner in the counts.
func (m manner) String() string {
	switch {
	case m.rewrite != nil:
		return "form " + m.rewrite.name
	case m.hint != nil:
		return "manner hint"
	case m.warm != nil:
		return "manner plan of other operands"
	case m.parked:
		return "manner parked"
	}
	return fmt.Sprintf("manner batches of %d", m.batch)
}

// restore runs the transaction of a way again, after an error has ended it, so that further queries can be sent in it.
// If this round has already sent writes, the way takes no further part instead. Ways without a transaction are left as
// they are.
func (r *round) restore(k *populatedWay) error {
	if !k.inTransaction {
		return nil
	}
	if len(r.writes) > 0 {
		k.out = true
		return nil
	}
	return k.again()
}
