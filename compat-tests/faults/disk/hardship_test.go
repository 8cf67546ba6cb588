package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// hardships are conditions that a server has to survive, and recover from without help, such as a full disk. They
// run in virtual time, unless file operations take time: a goroutine that waits for a file may hold a lock, and
// waiting for a lock stops virtual time.
var hardships = []struct {
	name string
	live func(h *hardship)
	real bool
}{
	{"the disk is full", fullDisk, false},
	{"the clock steps", clockSteps, false},
	{"no more files can be opened", noFiles, false},
	{"the clock steps under sessions", sessionsThroughSteps, false},
	{"syncs take 1 ms longer", slowDisk(time.Millisecond), true},
	{"syncs take 50 ms longer", slowDisk(50 * time.Millisecond), true},
	{"syncs take 500 ms longer", slowDisk(500 * time.Millisecond), true},
	{"a sync does not end", stuckDisk, true},
}

// hardship is one round of a hardship.
type hardship struct {
	testing.TB
	rng   *rand.Rand
	data  string
	files *vfs.MemFS
	held  state
	jump  atomic.Int64 // by how many nanoseconds the server's wall clock is wrong

	bug string // a planted bug
}

// TestHardship runs each of them in turn.
func TestHardship(t *testing.T) {
	first, _ := firstSeed(t)
	rounds := programme.Amount(t, "hardship")
	done := 0
	programme.RecordAtEnd(t, "hardship", first, func() (int, string) {
		return done, fmt.Sprintf("%d kinds in turn", len(hardships))
	})
	base := scenario{name: "hardship", base: filled("shop.orders", "shop.items")}
	data := folder(t)
	files, held, err := base.prepare(data, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		kind := hardships[i%len(hardships)]
		seed := first + uint64(i)
		t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(kind.name, " ", "-"), seed), func(t *testing.T) {
			h := &hardship{TB: t, rng: rand.New(rand.NewPCG(seed, 31)), data: data, files: copyOf(files), held: held.clone()}
			if kind.real {
				kind.live(h)
				return
			}
			synctest.Test(t, func(t *testing.T) {
				h.TB = t
				kind.live(h)
			})
		})
		done++
	}
}

// now returns the time that the server reads: its wall clock is wrong by jump, elapsed time is right. With the
// planted bug wallOnly, elapsed time follows the wall clock.
func (h *hardship) now() time.Time {
	by := time.Duration(h.jump.Load())
	if h.bug == wallOnly {
		return time.Now().Add(by)
	}
	return harness.Stepped(by)
}

// boot starts a server over files whose operations go through the injector by, with a reserve of disk space in
// bytes.
func (h *hardship) boot(by errorfs.InjectorFunc, reserve int64) *machine {
	h.Helper()
	if h.bug == noReserve {
		reserve = -1
	}
	m, err := start(settings{data: h.data, files: watch(h.files, by), reserve: reserve, now: h.now})
	if err != nil {
		h.Fatal(err)
	}
	return m
}

// must runs a step, which must succeed, and records its changes as the expected state.
func (h *hardship) must(m *machine, s *step) {
	h.Helper()
	if err := s.do(m.client); err != nil {
		h.Errorf("%s: %v", s.name, err)
		return
	}
	h.held.apply(s.changes)
}

// refuses runs a step that must fail with an error code.
func (h *hardship) refuses(m *machine, s *step, code int32) {
	h.Helper()
	var r *refused
	if err := s.do(m.client); !errors.As(err, &r) || r.code != code {
		h.Errorf("%s: %v, not code %d", s.name, err, code)
	}
}

// end compares the server's data with the expected state, before and after a restart of the server.
func (h *hardship) end(m *machine) {
	h.Helper()
	var wrong []string
	if got, err := m.observe(); err != nil {
		wrong = append(wrong, err.Error())
	} else {
		wrong = got.compare(h.held, nil)
	}
	if err := m.stop(); err != nil {
		h.Error(err)
	}
	wrong = append(wrong, strange(m.log.String())...)
	again := look(settings{data: h.data, files: copyOf(h.files)})
	wrong = append(wrong, again.wrong...)
	if again.state != nil {
		wrong = append(wrong, again.state.compare(h.held, nil)...)
	}
	if len(wrong) > 0 {
		h.Error(strings.Join(wrong[:min(len(wrong), 8)], "\n"))
	}
}

// some writes a few documents and changes others.
func (h *hardship) some(m *machine, from int) {
	h.Helper()
	for _, s := range writes(h.rng, "shop.orders", from, 8, 150) {
		h.must(m, s)
	}
}

// fullDisk simulates a disk with less free space than the reserve, and checks that writes that add data fail with
// code 14031, that reads and deletes work, and that writes work again once there is space.
func fullDisk(h *hardship) {
	usage := func(free uint64) { h.files.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free, TotalBytes: 1 << 40}) }
	usage(1 << 39)
	m := h.boot(func(errorfs.Op) error { return nil }, 1<<30)
	h.some(m, 1000)
	usage(1 << 20)
	time.Sleep(2 * time.Second)
	h.refuses(m, insert("shop.orders", document(h.rng, 5000, 1, 150)), 14031)
	h.refuses(m, replace("shop.orders", document(h.rng, 3, 1, 150)), 14031)
	h.must(m, remove("shop.items", h.rng.IntN(baseDocs)))
	if _, err := m.observe(); err != nil {
		h.Error(err)
	}
	usage(1 << 39)
	time.Sleep(2 * time.Second)
	h.some(m, 2000)
	h.end(m)
}

// clockSteps sets the wall clock an hour ahead and later twice an hour back, and checks that operation times do
// not decrease, and that exactly the expired documents are deleted.
func clockSteps(h *hardship) {
	m := h.boot(func(errorfs.Op) error { return nil }, -1)
	h.must(m, index("shop.orders", "at", bson.D{{Key: "at", Value: int32(1)}}, bson.E{Key: "expireAfterSeconds", Value: 1800}))
	last := uint64(0)
	for i, by := range []time.Duration{0, time.Hour, -time.Hour, -time.Hour} {
		h.jump.Add(int64(by))
		id := 3000 + i
		doc := bson.D{{Key: "_id", Value: int32(id)}, {Key: "at", Value: bson.NewDateTimeFromTime(time.Now().Add(time.Duration(h.jump.Load())))}}
		h.must(m, insert("shop.orders", doc))
		if _, err := m.daemon.Jobs().Expire(h.Context()); err != nil {
			h.Error(err)
		}
		if by > 0 {
			h.held.apply([]change{deleted("shop.orders", id-1)}) // has expired: older than half an hour
		}
		h.some(m, 4000+100*i)
		reply, err := m.run("shop", bson.D{{Key: "ping", Value: 1}})
		if err != nil {
			h.Fatal(err)
		}
		sec, inc := reply.Lookup("operationTime").Timestamp()
		if at := uint64(sec)<<32 | uint64(inc); at < last {
			h.Errorf("the time %d comes after %d", at, last)
		} else {
			last = at
		}
	}
	h.end(m)
}

// noFiles makes every opening of a file fail, and checks that commands that fail have code 39, and
// that writes work again afterwards.
func noFiles(h *hardship) {
	var none atomic.Bool
	m := h.boot(func(op errorfs.Op) error {
		if none.Load() && (op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpOpenDir) {
			return syscall.EMFILE
		}
		return nil
	}, -1)
	none.Store(true)
	var r *refused
	if _, err := m.observe(); err != nil && (!errors.As(err, &r) || r.code != 39) {
		h.Errorf("a question: %v", err)
	}
	for _, s := range writes(h.rng, "shop.orders", 1000, 8, 150) {
		switch err := s.do(m.client); {
		case err == nil:
			h.held.apply(s.changes)
		case !errors.As(err, &r) || r.code != 39: // the command may succeed if the table was open already
			h.Errorf("%s: %v", s.name, err)
		}
	}
	none.Store(false)
	time.Sleep(time.Second)
	h.some(m, 2000)
	h.end(m)
}
