package disk

import (
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/defects"
)

// keeps are the percentages of unsynced data that survive a simulated power cut; each is tested.
var keeps = []int{0, 50, 100}

// cutter simulates power cuts: it copies the disk of a running server before each file operation that changes it,
// starts a second server on each different copy, and compares what that server returns with the model.
type cutter struct {
	data  string // the folder in which servers open the copies
	flags []string
	base  state
	now   *progress
	files *vfs.MemFS
	rng   *rand.Rand
	bad   func(where string, wrong []string)

	mu     sync.Mutex // held while a copy is examined, so that all file operations wait
	seed   maphash.Seed
	known  map[uint64]*seen
	off    bool
	ops    int
	cuts   int
	opened int
}

// seen holds the data that a server on a copy of the disk returned, and what was wrong with it.
type seen struct {
	state state
	wrong []string
}

// String implements errorfs.Injector.
func (*cutter) String() string { return "cutter" }

// MaybeError implements errorfs.Injector: it fails nothing.
func (c *cutter) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpLock {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		return nil
	}
	c.ops++
	for _, keep := range keeps {
		c.cut(keep, fmt.Sprintf("operation %d (%s of %s)", c.ops, kindName(op.Kind), base(op.Path)))
	}
	return nil
}

// cut copies the disk as a power cut would leave it, with keep percent of the unsynced data, and compares the data
// in the copy with the model.
func (c *cutter) cut(keep int, where string) {
	at := sample{acked: load(c.now.acked)}
	image := c.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: keep, RNG: c.rng})
	at.begun = load(c.now.begun)
	c.cuts++
	print := fingerprint(c.seed, image)
	got := c.known[print]
	if got == nil {
		c.opened++
		got = look(settings{data: c.data, files: image, flags: c.flags})
		c.known[print] = got
	}
	wrong := got.wrong
	if got.state != nil {
		want, pending := c.now.expect(c.base, at)
		wrong = append(wrong[:len(wrong):len(wrong)], got.state.compare(want, pending)...)
	}
	if len(wrong) > 0 {
		c.bad(fmt.Sprintf("cut before %s, %d %% of what was not synced kept, %v of %v steps answered", where, keep, at.acked, at.begun), wrong)
	}
}

// look starts a server on a disk, as after a restart of the machine, reads all data, and tries a write.
func look(s settings) *seen {
	out := &seen{}
	m, err := start(s)
	if err != nil {
		out.wrong = []string{"the server does not start: " + err.Error()}
		return out
	}
	if !m.resumes() {
		out.wrong = append(out.wrong, "what the restart resumes does not end")
	}
	if out.state, err = m.observe(); err != nil {
		out.wrong = append(out.wrong, "the server does not tell what it has: "+err.Error())
	}
	out.wrong = append(out.wrong, m.check()...)
	if err := insert("after.cut", document(rand.New(rand.NewPCG(1, 1)), 1, 1, 10)).do(m.client); err != nil {
		out.wrong = append(out.wrong, "the server takes no writes: "+err.Error())
	}
	if err := m.stop(); err != nil {
		out.wrong = append(out.wrong, "the server does not end: "+err.Error())
	}
	if m.dead.Load() {
		out.wrong = append(out.wrong, "the store could not go on: "+*m.why.Load())
	}
	out.wrong = append(out.wrong, strange(m.log.String())...)
	return out
}

// strange returns an excerpt of a server's log if that has lines that only developers of the server understand,
// such as a panic.
func strange(log string) (out []string) {
	for _, sign := range []string{"goroutine ", "panic", "BUG", ".go:", "Error types", defects.Mark} {
		if strings.Contains(log, sign) {
			return []string{fmt.Sprintf("the log: %.600s", log)}
		}
	}
	return nil
}

// fingerprint returns a hash of a disk's contents.
func fingerprint(seed maphash.Seed, files *vfs.MemFS) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var walk func(dir string)
	walk = func(dir string) {
		names, _ := files.List(dir)
		sort.Strings(names)
		for _, name := range names {
			path := files.PathJoin(dir, name)
			info, err := files.Stat(path)
			if err != nil {
				continue
			}
			_, _ = h.WriteString(path + "\x00")
			if info.IsDir() {
				walk(path)
				continue
			}
			_, _ = h.WriteString(strconv.FormatInt(info.Size(), 10))
			if f, err := files.Open(path); err == nil {
				_, _ = io.Copy(&h, f)
				_ = f.Close()
			}
		}
	}
	walk("/")
	return h.Sum64()
}

// base returns the name of a file without its folder, for messages.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// TestPowerCut cuts the power before every changing file operation of every scenario, and checks that no
// acknowledged step is lost and no atomic one is half done.
func TestPowerCut(t *testing.T) {
	seed, only := firstSeed(t)
	due, cuts, opened, rounds := programme.Amount(t, "power-cut"), 0, 0, 0
	began := time.Now()
	programme.RecordAtEnd(t, "power-cut", seed, func() (int, string) {
		return cuts, fmt.Sprintf("%d rounds of %d scenarios, %d different disks opened, %d cuts per second", rounds, len(scenarios), opened, int(float64(cuts)/time.Since(began).Seconds()))
	})
	for round := 0; cuts < due && !(only && round > 0); round++ {
		rounds++
		for i := range scenarios {
			sc := &scenarios[i]
			t.Run(fmt.Sprintf("%s/%d", sc.name, seed+uint64(round)), func(t *testing.T) {
				c := cutAll(t, sc, seed+uint64(round), nil, nil, func(where string, wrong []string) {
					t.Errorf("%s: %s:\n%s", sc.name, where, strings.Join(wrong[:min(len(wrong), 8)], "\n"))
				})
				cuts, opened = cuts+c.cuts, opened+c.opened
				t.Logf("%d operations, %d cuts, %d disks", c.ops, c.cuts, c.opened)
			})
		}
		if t.Failed() {
			t.Logf("CANTLE_SEED=%d repeats it", seed+uint64(round))
			return
		}
	}
}

// firstSeed returns the random seed of the first round; only reports whether CANTLE_SEED sets it, so that only
// this round runs.
func firstSeed(t *testing.T) (seed uint64, only bool) {
	t.Helper()
	if seed, ok := testenv.Seed(t); ok {
		return seed, true
	}
	return uint64(time.Now().UnixNano() % 1e9), false
}

// cutAll runs a scenario and cuts the power before each of its changing file operations. It calls bad for the
// first cut with wrong data of each kind, at most eight. For planted bugs, under changes the server's disk, and
// wrap its store.
func cutAll(t *testing.T, sc *scenario, seed uint64, under func(vfs.FS) vfs.FS, wrap func(storage.Store) storage.Store, bad func(where string, wrong []string)) *cutter {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	data := folder(t)
	files, held, err := sc.prepare(data, seed%2 == 1)
	if err != nil {
		t.Fatalf("%s: %v", sc.name, err)
	}
	c := &cutter{data: data, flags: sc.flags, base: held, files: files, rng: rng, seed: maphash.MakeSeed(), known: map[uint64]*seen{}}
	told := map[string]bool{} // one failure of a kind is enough
	c.bad = func(where string, wrong []string) {
		if kind := digits.ReplaceAllString(wrong[0], "0"); !told[kind] && len(told) < 8 {
			told[kind] = true
			bad(where, wrong)
			c.off = c.off || under != nil || wrap != nil // a planted bug is found once
		}
	}
	c.now = newProgress(sc.lanes(rng))
	lower := vfs.FS(files)
	if under != nil {
		lower = under(files)
	}
	m, err := start(settings{data: data, files: watch(lower, c), flags: sc.flags, wrap: wrap})
	if err != nil {
		t.Fatalf("%s: %v", sc.name, err)
	}
	if err := c.now.live(m); err != nil {
		bad("without a cut", []string{err.Error()})
	}
	err = m.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(0, "the end")
	c.off = true
	if wrong := strange(m.log.String()); err != nil || wrong != nil {
		bad("without a cut", append(wrong, fmt.Sprint(err)))
	}
	return c
}

// digits matches the parts of a message that differ between failures of the same kind, so that each kind is
// reported once.
var digits = regexp.MustCompile(`[0-9]+`)

// kindName returns the kind of an operation.
func kindName(k errorfs.OpKind) string {
	names := map[errorfs.OpKind]string{
		errorfs.OpCreate: "create", errorfs.OpLink: "link", errorfs.OpOpen: "open", errorfs.OpOpenDir: "open", errorfs.OpRemove: "remove", errorfs.OpRemoveAll: "remove",
		errorfs.OpRename: "rename", errorfs.OpReuseForWrite: "rename", errorfs.OpMkdirAll: "mkdir", errorfs.OpFileWrite: "write", errorfs.OpFileWriteAt: "write",
		errorfs.OpFileSync: "sync", errorfs.OpFileSyncData: "sync", errorfs.OpFileSyncTo: "sync", errorfs.OpFileRead: "read", errorfs.OpFileReadAt: "read",
	}
	if name, ok := names[k]; ok {
		return name
	}
	return "other"
}
