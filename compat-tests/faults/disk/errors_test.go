package disk

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/storage"
)

// kinds are the kinds of operations that fail.
var kinds = []string{"read", "write", "sync", "create", "rename", "remove"}

// breaker makes file operations fail: the n-th operation of a kind and, if lasting is set, all later ones.
type breaker struct {
	kind    string
	n       int // 0 = never
	lasting bool
	err     error

	mu       sync.Mutex
	off      bool
	count    map[string]int
	failedOp string // the first operation that failed
}

// String implements errorfs.Injector.
func (*breaker) String() string { return "breaker" }

// MaybeError implements errorfs.Injector.
func (b *breaker) MaybeError(op errorfs.Op) error {
	kind := kindName(op.Kind)
	if kind == "link" {
		kind = "create"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == nil {
		b.count = map[string]int{}
	}
	b.count[kind]++
	if b.off || b.n == 0 || kind != b.kind || b.count[kind] < b.n || b.count[kind] > b.n && !b.lasting {
		return nil
	}
	if b.failedOp == "" {
		b.failedOp = kind + " of " + base(op.Path)
	}
	return b.err
}

// heal ends the faults.
func (b *breaker) heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = true
}

// trial is one test: one life of a server with a failing disk, the next life, and what both must return.
type trial struct {
	sc      *scenario
	data    string
	base    *vfs.MemFS
	held    state
	seed    uint64
	breaker *breaker
	over    func(vfs.FS) vfs.FS // a planted bug
	wrap    func(storage.Store) storage.Store

	started     bool
	died        string         // why the store stopped
	errorCounts map[string]int // errors that clients got
	wrong       []string       // violations
	images      []*vfs.MemFS   // possible contents of the disk afterwards
}

// run runs both lives.
func (x *trial) run() {
	x.errorCounts = map[string]int{}
	files := copyOf(x.base)
	upper := watch(files, x.breaker)
	if x.over != nil {
		upper = x.over(upper)
	}
	rng := rand.New(rand.NewPCG(x.seed, 5))
	p := newProgress(x.sc.lanes(rng))
	lost := func() { // the process ends; its writes stay on the disk, or, if the power fails as well, only the synced ones
		x.images = append(x.images, copyOf(files), files.CrashClone(vfs.CrashCloneCfg{}))
		x.breaker.heal()
	}
	m, err := start(settings{data: x.data, files: upper, flags: x.sc.flags, wrap: x.wrap, lost: lost})
	if err != nil {
		x.named("start", err)
	} else {
		x.started = true
		x.lives(m, p)
	}
	if why := m.why.Load(); why != nil {
		x.died = *why
	}
	x.breaker.heal()
	if x.died == "" {
		x.images = append(x.images, copyOf(files))
	}
	x.wrong = append(x.wrong, strange(m.log.String())...)
	for i, image := range x.images {
		got := look(settings{data: x.data, files: image, flags: x.sc.flags})
		wrong := got.wrong
		if got.state != nil {
			want, pending := p.expect(x.held, sample{load(p.acked), load(p.begun)})
			wrong = append(wrong, got.state.compare(want, pending)...)
		}
		for _, w := range wrong {
			x.wrong = append(x.wrong, fmt.Sprintf("after the restart (%d): %s", i, w))
		}
	}
}

// lives runs the scenario and reads everything.
func (x *trial) lives(m *machine, p *progress) {
	x.named("command", p.live(m))
	if !m.dead.Load() {
		if !x.breaker.lasting && !m.resumes() {
			x.wrong = append(x.wrong, "what the start resumes does not end")
		}
		got, err := m.observe()
		if err != nil {
			x.named("question", err)
		} else {
			want, pending := p.expect(x.held, sample{load(p.acked), load(p.begun)})
			for _, w := range got.compare(want, pending) {
				x.wrong = append(x.wrong, "while the disk errs: "+w)
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- m.stop() }()
	select {
	case err := <-ended:
		if !m.dead.Load() && err != nil {
			x.named("end", err)
		}
	case <-time.After(2 * time.Minute):
		x.wrong = append(x.wrong, "the server does not end")
	}
}

// named counts an error that a client got, and checks that it has a code of its own and no text for developers.
func (x *trial) named(what string, err error) {
	if err == nil {
		return
	}
	list := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		var r *refused
		var w *wrongAnswer
		switch {
		case errors.Is(err, errLost):
			x.errorCounts[what+": "+errLost.Error()]++
		case errors.As(err, &w):
			x.wrong = append(x.wrong, what+": "+err.Error())
		case errors.As(err, &r):
			x.errorCounts[fmt.Sprintf("%s: %s (%d) %s", what, r.name, r.code, digits.ReplaceAllString(r.message, "0"))]++
			if r.code == 0 || r.code == 1 {
				x.wrong = append(x.wrong, what+": an error without a name: "+r.Error())
			}
		default:
			x.errorCounts[what+": "+digits.ReplaceAllString(err.Error(), "0")]++
		}
		x.wrong = append(x.wrong, strange(err.Error())...)
	}
}

// rig holds a scenario and the disk with which each of its trials begins.
type rig struct {
	sc     *scenario
	data   string
	bases  [2]*vfs.MemFS // after a clean shutdown, and without one
	held   [2]state
	counts [2]map[string]int
}

// newRig prepares a scenario, and counts its operations.
func newRig(t *testing.T, sc *scenario) *rig {
	t.Helper()
	r := &rig{sc: sc, data: folder(t)}
	for i := range r.bases {
		var err error
		if r.bases[i], r.held[i], err = sc.prepare(r.data, i == 1); err != nil {
			t.Fatalf("%s: %v", sc.name, err)
		}
		x := r.trial(uint64(i), &breaker{})
		x.run()
		if len(x.wrong) > 0 || len(x.errorCounts) > 0 {
			t.Fatalf("%s without a fault: %v %v", sc.name, x.wrong, x.errorCounts)
		}
		r.counts[i] = x.breaker.count
	}
	return r
}

// trial returns a trial with a seed.
func (r *rig) trial(seed uint64, b *breaker) *trial {
	return &trial{sc: r.sc, data: r.data, base: r.bases[seed%2], held: r.held[seed%2], seed: seed, breaker: b}
}

// TestErrors fails the n-th operation of each kind.
func TestErrors(t *testing.T) {
	first, only := firstSeed(t)
	due, done, died, refusedStart, met := programme.Amount(t, "io-error"), 0, 0, 0, 0
	programme.RecordAtEnd(t, "io-error", first, func() (int, string) {
		return done, fmt.Sprintf("%d of them came to pass; %d ended the process, %d the start", met, died, refusedStart)
	})
	rigs := make([]*rig, len(scenarios))
	for i := range scenarios {
		rigs[i] = newRig(t, &scenarios[i])
	}
	told := map[string]int{}
	for seed := first; done < due && !(only && seed > first); seed++ {
		rng := rand.New(rand.NewPCG(seed, 23))
		r := rigs[rng.IntN(len(rigs))]
		kind := kinds[rng.IntN(len(kinds))]
		n := r.counts[seed%2][kind]
		if n == 0 {
			continue
		}
		x := r.trial(seed, &breaker{kind: kind, n: 1 + rng.IntN(n), lasting: rng.IntN(2) == 0, err: []error{syscall.EIO, syscall.EIO, syscall.EROFS}[rng.IntN(3)]})
		x.run()
		done++
		if x.breaker.failedOp != "" {
			met++
		}
		if x.died != "" {
			died++
			told["the end: "+digits.ReplaceAllString(x.died, "0")]++
		}
		if !x.started {
			refusedStart++
		}
		for text, n := range x.errorCounts {
			told[text] += n
		}
		if len(x.wrong) > 0 {
			t.Errorf("CANTLE_SEED=%d: %s, number %d of kind %s fails (%s), lasting %v, ended by %q:\n%s", seed, x.sc.name, x.breaker.n, kind, x.breaker.failedOp, x.breaker.lasting, x.died,
				strings.Join(x.wrong[:min(len(x.wrong), 6)], "\n"))
		}
	}
	for _, text := range slices.SortedFunc(maps.Keys(told), func(a, b string) int { return told[b] - told[a] }) {
		t.Logf("%4d %.300s", told[text], text)
	}
}
