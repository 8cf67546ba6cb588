package peers_test

import (
	"testing"

	"github.com/cantledb/cantle/shard/peers"
)

// twoOwners returns the Owners of two living servers over a store.
func twoOwners(t *testing.T) (a, b *peers.Owners) {
	c := newCluster(t, 2)
	return peers.NewOwners(c.alive[0]), peers.NewOwners(c.alive[1])
}

// acquire calls TryAcquire and checks the result.
func acquire(t *testing.T, r *peers.Owners, want bool) {
	t.Helper()
	ok, err := r.TryAcquire(t.Context(), "j", nil)
	if err != nil || ok != want {
		t.Errorf("the job is taken: %v, %v, wanted %v", ok, err, want)
	}
}

// A job that a living server lost with its lease, and has not taken again, becomes free for peers:
// ReleasePending gives its row back.
func TestLostJobIsReleased(t *testing.T) {
	a, b := twoOwners(t)
	acquire(t, a, true)
	a.LoseAll()
	if a.Owns("j") || a.Guard("j") == nil {
		t.Error("a lost job is owned")
	}
	if err := a.ReleasePending(t.Context()); err != nil {
		t.Fatal(err)
	}
	acquire(t, b, true)
	acquire(t, a, false)
}

// A server that takes a lost job again keeps it.
func TestLostJobIsAcquiredAgain(t *testing.T) {
	a, b := twoOwners(t)
	acquire(t, a, true)
	a.LoseAll()
	acquire(t, a, true)
	if err := a.ReleasePending(t.Context()); err != nil {
		t.Fatal(err)
	}
	acquire(t, b, false)
	if err := a.Guard("j"); err != nil {
		t.Error(err)
	}
}
