package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
)

// member is the store of one of several servers.
type member struct {
	storage.Store
	id    storage.MemberID
	alive *[]storage.Member
}

func (m member) Member() storage.MemberID                                 { return m.id }
func (m member) Publish(context.Context, []byte) error                    { return nil }
func (m member) Rejoin(func(ctx context.Context, r storage.Reader) error) {}
func (m member) SetDescription(func() []byte)                             {}
func (m member) Collect(context.Context) error                            { return nil }
func (m member) Members(context.Context) (storage.Timestamp, []storage.Member, error) {
	return m.Latest(), *m.alive, nil
}

var _ storage.Shared = member{} // otherwise the store would look as if one server had it alone

// owners are servers over the store of a world, with one partition to which all write.
type owners struct {
	*world
	alive []storage.Member
}

func newOwners(t *testing.T) *owners {
	w := newWorld(t)
	w.shard(1)
	return &owners{world: w}
}

// open starts a server.
func (o *owners) open(id byte) *history.Recorder {
	o.t.Helper()
	o.alive = append(o.alive, storage.Member{ID: storage.MemberID{id}})
	r := history.New(history.Config{Catalog: o.jobs.Catalog, Budgets: o.cluster.Budgets, Store: member{o.store, storage.MemberID{id}, &o.alive},
		Now: o.clock.Now, Failed: func(err error) { o.t.Error(err) }})
	o.must(r.Load(context.Background()))
	return r
}

// work makes n writes at a server, which then stores its history.
func (o *owners) work(r *history.Recorder, n int) {
	r.Update()
	for range n {
		o.write(o.shards()[0], 1)
		r.Ended(history.DidWrite, time.Millisecond)
	}
	o.clock.Advance(2 * time.Second)
	r.Save(context.Background())
}

// writesIn sums the writes of all seconds.
func writesIn(l history.Lines) (sum float32) {
	for _, c := range l.Totals {
		sum += c.Writes
	}
	return sum
}

func writes(r *history.Recorder) float32 {
	return writesIn(r.Lines(history.Seconds, start.Unix(), start.Unix()+300))
}

// Each of several servers (recorders over one store) keeps its own history, and a starting server takes over that of a
// dead one, once.
func TestSeveralOwners(t *testing.T) {
	o := newOwners(t)
	a := o.open(1)
	o.work(a, 5)
	b := o.open(2)
	o.work(b, 7)
	if x, y := writes(a), writes(b); x != 5 || y != 7 {
		t.Errorf("%v and %v writes", x, y)
	}
	o.alive = o.alive[1:] // the first one dies
	if got := writes(o.open(3)); got != 5 {
		t.Errorf("the heir knows of %v writes", got)
	}
	if got := writes(o.open(4)); got != 0 {
		t.Errorf("one that comes later knows of %v writes", got)
	}
}

// The history of a dead server is shown beside those of live ones until a server takes it over, and deleted
// when it is too old for all.
func TestDeadOwner(t *testing.T) {
	o := newOwners(t)
	a, b := o.open(1), o.open(2)
	o.work(a, 5)
	o.work(b, 7)
	all := history.NewAllServers(b, o.cluster.Peers)
	seen := func() (lines, heat float32) {
		t.Helper()
		l, unreachable, err := all.Lines(t.Context(), history.Seconds, start.Unix(), start.Unix()+300)
		if err != nil || unreachable != nil {
			t.Errorf("%v is unreachable, %v", unreachable, err)
		}
		h, _, err := all.Heat(t.Context(), history.Seconds, history.Writes, "", start.Unix(), start.Unix()+300)
		o.must(err)
		for _, r := range h.Rows {
			for _, c := range r.Cells {
				heat += float32(history.Value(c))
			}
		}
		return writesIn(l), heat
	}
	if lines, _ := seen(); lines != 7 {
		t.Errorf("%v writes while the other one lives and is not asked", lines)
	}
	o.alive = o.alive[1:] // the first one dies
	o.clock.Advance(time.Minute)
	lines, heat := seen()
	if lines != 12 {
		t.Errorf("%v writes with those of the dead", lines)
	}
	own := b.Heat(history.Seconds, history.Writes, "", start.Unix(), start.Unix()+300)
	if len(own.Rows) != 1 || heat < 11 {
		t.Errorf("%d rows, %v writes in all of them", len(own.Rows), heat)
	}
	heir := o.open(3)
	if lines, _ := seen(); lines != 7 || writes(heir) != 5 {
		t.Errorf("%v writes, and the heir knows of %v", lines, writes(heir))
	}
	o.alive = o.alive[:1] // and so does the heir
	heir.Save(t.Context())
	o.clock.Advance(time.Minute)
	if lines, _ := seen(); lines != 12 {
		t.Errorf("%v writes with those that the dead had taken over", lines)
	}
	o.clock.Advance(8 * 24 * time.Hour)
	o.must(b.Forget(t.Context()))
	o.alive = nil
	if got := writes(o.open(4)); got != 0 {
		t.Errorf("%v writes after eight days", got)
	}
}

// A server that slept beyond its lease, and whose history another server took over meanwhile, no longer has
// it when it wakes: its work counts once.
func TestStalledOwner(t *testing.T) {
	o := newOwners(t)
	a := o.open(1)
	work := func(r *history.Recorder, n int) {
		r.Update()
		for range n {
			o.write(o.shards()[0], 1)
			r.Ended(history.DidWrite, time.Millisecond)
		}
		for range 2 { // until the columns are full, and others after them
			o.clock.Advance(5 * time.Minute)
			r.Update()
		}
		r.StoreFullColumns(t.Context())
	}
	all := history.NewAllServers(a, o.cluster.Peers)
	count := func(r *history.AllServers, level int) float32 {
		t.Helper()
		l, _, err := r.Lines(t.Context(), level, start.Unix(), start.Unix()+3600)
		o.must(err)
		return writesIn(l) * float32(history.Step(level))
	}
	work(a, 300)
	asleep := o.alive
	o.alive = nil
	heir := history.NewAllServers(o.open(2), o.cluster.Peers)
	o.alive = append(asleep, o.alive...)
	for _, level := range []int{history.Tens, history.Fives} {
		if got, other := count(all, level), count(heir, level); got != 0 || other != 300 {
			t.Errorf("level %d: %v writes at the one that slept, %v at its heir", level, got, other)
		}
	}
	work(a, 600)
	if got := count(all, history.Fives); got != 600 {
		t.Errorf("%v writes after it woke", got)
	}
	work(a, 0)
	if got, other := count(all, history.Fives), count(heir, history.Fives); got != 600 || other != 300 {
		t.Errorf("%v writes, and %v, once it had stored again", got, other)
	}
}
