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

// openAtLevel opens a store for a program that reads up to a level.
func openAtLevel(t *testing.T, c *tikvfake.Cluster, level uint32, several bool) (*store, error) {
	t.Helper()
	kv, err := c.Client()
	must(t, err)
	s, err := OpenOn(t.Context(), kv, Options{Keyspace: "test", Lease: 600 * time.Millisecond, Level: level, Several: several})
	if err != nil {
		must(t, kv.Close())
		return nil, err
	}
	if m, ok := s.(*member); ok {
		return m.store, nil
	}
	return s.(*store), nil
}

// tooOld makes sure that a program of an older level is told to make room for a newer one.
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

// While one member is of an older program all write at its level; the level rises when it has gone,
// and then it cannot come back.
func TestLevelRises(t *testing.T) {
	c := fake(t)
	old, err := openAtLevel(t, c, 1, true)
	must(t, err)
	young, err := openAtLevel(t, c, 2, true)
	must(t, err)
	for range 3 {
		must(t, young.lease.again(t.Context(), young))
		if got := young.level.Load(); got != 1 {
			t.Fatalf("beside a member of level 1 another one writes at level %d", got)
		}
	}
	must(t, old.Close())
	for young.level.Load() != 2 {
		must(t, young.lease.again(t.Context(), young))
	}
	tooOld(t, c, 1, true)
	beside, err := openAtLevel(t, c, 3, true)
	must(t, err)
	if got := beside.level.Load(); got != 2 {
		t.Errorf("one that has just come writes at level %d", got)
	}
	must(t, young.Close())
	must(t, beside.Close())
	tooOld(t, c, 1, false)
}

// Who has the keyspace alone writes at the level of his program, which keeps older ones out.
func TestLevelAlone(t *testing.T) {
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

// A member that slept while the level rose ends, and says why.
func TestLevelAsleep(t *testing.T) {
	c := fake(t)
	var asleep atomic.Bool
	said := make(chan string, 1)
	old := openAsleep(t, c, &asleep, Options{Level: 1, Several: true, Fatal: func(message string) { said <- message }})
	asleep.Store(true)
	young, err := openAtLevel(t, c, 2, true)
	must(t, err)
	for young.level.Load() != 2 {
		must(t, young.lease.again(t.Context(), young))
	}
	asleep.Store(false)
	if got := <-said; !strings.Contains(got, "start the newer one") {
		t.Errorf("the member that comes back says %q", got)
	}
	must(t, old.Close())
	must(t, young.Close())
}
