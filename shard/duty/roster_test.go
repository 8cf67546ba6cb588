package duty_test

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/shard/duty"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// member is one of two living servers over a store.
type member struct {
	storage.Store
	id storage.MemberID
}

func (m *member) Member() storage.MemberID              { return m.id }
func (m *member) Publish(context.Context, []byte) error { return nil }
func (m *member) Members(context.Context) (storage.Timestamp, []storage.Member, error) {
	return m.Latest(), []storage.Member{{ID: storage.MemberID{1}}, {ID: storage.MemberID{2}}}, nil
}
func (m *member) Rejoin(func(context.Context, storage.Reader) error) {}
func (m *member) SetDescription(func() []byte)                       {}
func (m *member) Collect(context.Context) error                      { return nil }

var _ storage.Shared = (*member)(nil) // otherwise the store would count as one without peers

func two(t *testing.T) (a, b *duty.Owners) {
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return duty.New(&member{store, storage.MemberID{1}}), duty.New(&member{store, storage.MemberID{2}})
}

// take calls TryAcquire and checks the result.
func take(t *testing.T, r *duty.Owners, want bool) {
	t.Helper()
	ok, err := r.TryAcquire(t.Context(), "d", nil)
	if err != nil || ok != want {
		t.Errorf("the duty is taken: %v, %v, wanted %v", ok, err, want)
	}
}

// A duty that a living server lost with its lease, and has not taken again, becomes free for peers:
// ReleasePending gives its row back.
func TestLapseGivesBack(t *testing.T) {
	a, b := two(t)
	take(t, a, true)
	a.LoseAll()
	if a.Owns("d") || a.Guard("d") == nil {
		t.Error("a lost duty is had")
	}
	if err := a.ReleasePending(t.Context()); err != nil {
		t.Fatal(err)
	}
	take(t, b, true)
	take(t, a, false)
}

// A server that takes a lost duty again keeps it.
func TestLapseAndTake(t *testing.T) {
	a, b := two(t)
	take(t, a, true)
	a.LoseAll()
	take(t, a, true)
	if err := a.ReleasePending(t.Context()); err != nil {
		t.Fatal(err)
	}
	take(t, b, false)
	if err := a.Guard("d"); err != nil {
		t.Error(err)
	}
}
