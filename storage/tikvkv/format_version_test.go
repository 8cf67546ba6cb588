package tikvkv

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// openAtLevel opens a store as a program whose newest format version is level; several opens it as a member.
func openAtLevel(t *testing.T, c *tikvfake.Cluster, level uint32, several bool) (*store, error) {
	t.Helper()
	kv, err := c.Client()
	must(t, err)
	s, err := OpenOn(t.Context(), kv, Options{Keyspace: "test", Lease: 600 * time.Millisecond, FormatVersion: level, Several: several})
	if err != nil {
		must(t, kv.Close())
		return nil, err
	}
	if m, ok := s.(*sharedStore); ok {
		return m.store, nil
	}
	return s.(*store), nil
}

// tooOld checks that opening the store at an older level fails, with the advice to start the newer
// program.
func tooOld(t *testing.T, c *tikvfake.Cluster, level uint32, several bool) {
	t.Helper()
	s, err := openAtLevel(t, c, level, several)
	if err == nil {
		must(t, s.Close())
	}
	if !errors.Is(err, storage.ErrFormat) || !strings.Contains(err.Error(), "start the newer one") {
		t.Errorf("a program of level %d (one of several: %v): %v", level, several, err)
	}
}

// While one member can only read an older level, all members write at that level. After it has
// left, the level is raised, and it can no longer join.
func TestFormatVersionRises(t *testing.T) {
	c := fake(t)
	old, err := openAtLevel(t, c, 1, true)
	must(t, err)
	young, err := openAtLevel(t, c, 2, true)
	must(t, err)
	for range 3 {
		must(t, young.membership.renew(t.Context()))
		if got := young.membership.version.current.Load(); got != 1 {
			t.Fatalf("beside a member of level 1 another one writes at level %d", got)
		}
	}
	must(t, old.Close())
	for young.membership.version.current.Load() != 2 {
		must(t, young.membership.renew(t.Context()))
	}
	tooOld(t, c, 1, true)
	beside, err := openAtLevel(t, c, 3, true)
	must(t, err)
	if got := beside.membership.version.current.Load(); got != 2 {
		t.Errorf("one that has just come writes at level %d", got)
	}
	must(t, young.Close())
	must(t, beside.Close())
	tooOld(t, c, 1, false)
}

// An exclusive server writes at the newest level of its program, which keeps older programs out.
func TestFormatVersionAlone(t *testing.T) {
	c := fake(t)
	s, err := openAtLevel(t, c, 2, false)
	must(t, err)
	must(t, s.Close())
	tooOld(t, c, 1, true)
	tooOld(t, c, 1, false)
	s, err = openAtLevel(t, c, 2, false)
	must(t, err)
	must(t, s.Close())
}

// A member that was paused while the level was raised stops, and reports why.
func TestStalledFormatVersion(t *testing.T) {
	c := fake(t)
	var asleep atomic.Bool
	said := make(chan string, 1)
	old := openAsleep(t, c, &asleep, Options{FormatVersion: 1, Several: true, Fatal: func(message string) { said <- message }})
	asleep.Store(true)
	young, err := openAtLevel(t, c, 2, true)
	must(t, err)
	for young.membership.version.current.Load() != 2 {
		must(t, young.membership.renew(t.Context()))
	}
	asleep.Store(false)
	if got := <-said; !strings.Contains(got, "start the newer one") {
		t.Errorf("the member that comes back says %q", got)
	}
	must(t, old.Close())
	must(t, young.Close())
}
