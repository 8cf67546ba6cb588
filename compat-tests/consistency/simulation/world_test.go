package simulation

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// plan holds the parameters of a simulation besides its seed.
type plan struct {
	flags   []string                          // further flags of the server
	wrap    func(storage.Store) storage.Store // a planted bug
	forgets bool                              // a planted bug: a client sends a retried write as a new one
	hotDocs int                               // number of documents in histories; 0 = hotDocs
}

// world is one simulation: a simulated disk, a server that is restarted on this disk after each power cut, clients,
// and the model of what they wrote.
type world struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand // for events of the world; clients have their own
	plan  plan
	dir   string
	model *model
	trace bytes.Buffer

	disk   *disk
	net    *network
	server *daemon.Daemon
	log    *log
	life   int
	jump   atomic.Int64  // the error of the wall clock
	fatal  chan struct{} // the process would have ended

	mu     sync.Mutex
	wrong  []string
	counts counts
}

// counts holds the numbers of events of a simulation by kind; they show that the simulation has tested something.
type counts struct {
	lives, cuts, failures, lost, acknowledged, refused, unknown, throttled, transactions, structure, events, expired, reads, browsed int
}

// String returns the counts as a sentence.
func (c *counts) String() string {
	return fmt.Sprintf("%d lives of servers ended by %d power cuts and %d logs or manifests that could not be written; %d writes and %d transactions acknowledged, %d refused by conflicts and %d by budgets, %d answers lost, %d writes undetermined; %d splits, merges, reshardings and indexes; %d reads, %d cursors of transactions that wrote meanwhile, %d events of streams, %d documents expired",
		c.lives, c.cuts-c.failures, c.failures, c.acknowledged, c.transactions, c.refused, c.throttled, c.lost, c.unknown, c.structure, c.reads, c.browsed, c.events, c.expired)
}

// add adds the counts of another simulation.
func (c *counts) add(o counts) {
	a, b := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range a.NumField() {
		*(*int)(a.Field(i).Addr().UnsafePointer()) += int(b.Field(i).Int())
	}
}

// log collects the log of the server.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// bad records a violation.
func (w *world) bad(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf("life %d: ", w.life)+fmt.Sprintf(format, args...))
}

// note records an event, for the analysis of one seed.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.trace, "%s %s\n", time.Now().Format("04:05.000000"), fmt.Sprintf(format, args...))
}

// count adds to a count.
func (w *world) count(which *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*which++
}

// now returns the time of the wall clock.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.jump.Load())) }

// boot starts a server on a disk.
func (w *world) boot(files *vfs.MemFS) bool {
	w.life++
	w.counts.lives++
	w.disk = &disk{files: files, rng: rand.New(rand.NewPCG(w.seed, uint64(w.life))), slowest: time.Millisecond}
	w.net, w.log, w.fatal = newNetwork(), &log{}, make(chan struct{}, 1)
	w.disk.halt = func() {
		w.net.dead.Store(true)
		w.disk.left = w.clone(w.rng.IntN(101))
		w.fatal <- struct{}{}
	}
	var cfg daemon.Config
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(set)
	args := append([]string{"--data", w.dir, "--listen=", "--cache-size=1MB", "--work-memory=32MB", "--reply-charge", "--log-level=warn", "--drain=0s", "--enable-test-commands"}, w.plan.flags...)
	if err := set.Parse(args); err != nil {
		w.t.Fatal(err)
	}
	cfg.Listeners, cfg.Now, cfg.Wrap = append(cfg.Listeners, w.net), w.now, func(s storage.Store) storage.Store {
		if w.plan.wrap != nil {
			s = w.plan.wrap(s)
		}
		return slowed(s, w.disk, w.rng.Uint64())
	}
	cfg.Files = func(o *pebblekv.Options) {
		o.FS, o.MemtableBytes, o.ReserveBytes = w.disk.fs(), 64<<10, -1
		// With few memtables, a write waits for a flush while it holds a lock. Virtual time stands still while other
		// writes wait for this lock, so the flush would never happen.
		o.Memtables = 1000
	}
	var err error
	if w.server, err = daemon.Start(context.Background(), cfg, w.log); err != nil {
		w.bad("the server does not start: %v", err)
		return false
	}
	w.note("life %d begins", w.life)
	c := w.newClient(905)
	defer c.hangUp()
	r, err := c.runOn("admin", bson.D{{Key: "setParameter", Value: 1}, {Key: "ttlMonitorSleepSecs", Value: int(expireEvery.Seconds())}})
	if err != nil || r.code() != 0 {
		w.bad("setParameter: %v %s", err, r.Raw)
	}
	return true
}

// clone returns the contents of the disk after a power cut, in which keep percent of the unsynced data survive.
func (w *world) clone(keep int) *vfs.MemFS {
	return w.disk.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: keep, RNG: rand.New(rand.NewPCG(w.seed, uint64(100+w.life)))})
}

// cut cuts the power, which ends the life of the server, and returns the contents of the disk: those at the moment of
// halt, if it was called; otherwise keep percent of the unsynced data survive.
func (w *world) cut(keep int) *vfs.MemFS {
	w.net.dead.Store(true)
	files := w.disk.left
	if files == nil {
		files = w.clone(keep)
	}
	w.note("the power fails, %d %% of what was not synced stays", keep)
	w.counts.cuts++
	w.disk.heal()
	w.end()
	return files
}

// end cleans up after a life.
func (w *world) end() {
	_ = w.server.Stop()
	if panics, _ := w.server.Defects(); panics > 0 {
		w.bad("%d panics in the server", panics)
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	text := w.log.text.String()
	for _, sign := range []string{"panic", "BUG", "goroutine "} {
		if strings.Contains(text, sign) && !w.disk.failed {
			w.bad("the server's log: %.2000s", text)
			return
		}
	}
}
