package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
)

// member is a store as one of several servers has it.
type member struct {
	storage.Store
	id    storage.MemberID
	alive *[]storage.Member
}

func (m member) Member() storage.MemberID                                 { return m.id }
func (m member) Tell(context.Context, []byte) error                       { return nil }
func (m member) Rejoin(func(ctx context.Context, r storage.Reader) error) {}
func (m member) Introduce(func() []byte)                                  {}
func (m member) Collect(context.Context) error                            { return nil }
func (m member) Members(context.Context) (storage.Timestamp, []storage.Member, error) {
	return m.Latest(), *m.alive, nil
}

var _ storage.Shared = member{} // or else it would be taken for a store that one server has alone

// Of several servers each keeps its own history, and one that starts takes over that of a server
// which is dead, once.
func TestSeveralOwners(t *testing.T) {
	w := newWorld(t)
	w.shard(1)
	var alive []storage.Member
	open := func(id byte) *history.Recorder {
		t.Helper()
		alive = append(alive, storage.Member{ID: storage.MemberID{id}})
		r := history.New(history.Config{Catalog: w.cluster.Catalog, Budgets: w.cluster.Budgets, Store: member{w.store, storage.MemberID{id}, &alive},
			Now: w.clock.Now, Failed: func(err error) { t.Error(err) }})
		w.must(r.Load(t.Context()))
		return r
	}
	writes := func(r *history.Recorder) (sum float32) {
		for _, c := range r.Lines(history.Seconds, start.Unix(), start.Unix()+300).Totals {
			sum += c.Writes
		}
		return sum
	}
	work := func(r *history.Recorder, n int) {
		r.Look()
		for range n {
			w.write(w.shards()[0], 1)
			r.Ended(history.DidWrite, time.Millisecond)
		}
		w.clock.Advance(2 * time.Second)
		r.Save(t.Context())
	}
	a := open(1)
	work(a, 5)
	b := open(2)
	work(b, 7)
	if x, y := writes(a), writes(b); x != 5 || y != 7 {
		t.Errorf("%v and %v writes", x, y)
	}
	alive = alive[1:] // the first one dies
	if got := writes(open(3)); got != 5 {
		t.Errorf("the heir knows of %v writes", got)
	}
	if got := writes(open(4)); got != 0 {
		t.Errorf("one that comes later knows of %v writes", got)
	}
}
