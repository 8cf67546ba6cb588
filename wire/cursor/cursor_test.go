package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// count streams the numbers below to.
type count struct {
	at, to int32
	inUse  atomic.Bool
	closed atomic.Int32
}

func (s *count) Append(ctx context.Context, b *bson.Builder, max, maxBytes int) (int, bool, error) {
	if s.inUse.Swap(true) || s.closed.Load() > 0 {
		panic("used by two, or closed")
	}
	defer s.inUse.Store(false)
	n := 0
	for ; s.at < s.to && (max == 0 || n < max); n++ {
		b.BeginDoc("")
		b.Int32("_id", s.at)
		b.End()
		s.at++
	}
	return n, s.at < s.to, ctx.Err()
}

func (s *count) Close() {
	if s.inUse.Load() {
		panic("closed in use")
	}
	s.closed.Add(1)
}

var (
	ns    = collection.Namespace{DB: "db", Coll: "c"}
	open  = Options{Namespace: ns, TxnNumber: -1}
	reach = Access{Namespace: ns, TxnNumber: -1}
	sidA  = session.ID{UUID: [16]byte{1}}
	sidB  = session.ID{UUID: [16]byte{2}}
)

// add opens a cursor and checks it in.
func add(t *testing.T, r *Registry, o Options) (ID, *count) {
	t.Helper()
	src := &count{to: 10}
	c, err := r.Add(o, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Checkin(0, true), src
}

func code(err error) int { return int(mongoerr.CodeOf(err)) }

func TestBatches(t *testing.T) {
	r := New(Config{})
	src := &count{to: 10}
	c, err := r.Add(open, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, got := c.ID, 0
	for batch := 0; ; batch++ {
		b := bson.NewArrayBuilder(nil)
		n, more, err := c.Append(t.Context(), b, 4, 1<<20)
		if err != nil || b.Doc().Len() != n {
			t.Fatal(n, err)
		}
		got += n
		if left := c.Checkin(n, more); left == 0 {
			break
		} else if left != id {
			t.Fatalf("id changed from %d to %d", id, left)
		}
		if l := r.List(); len(l) != 1 || l[0].Returned != int64(got) || l[0].Batches != int64(batch+1) || l[0].Pinned {
			t.Errorf("%+v", l)
		}
		if c, err = r.Checkout(id, reach); err != nil {
			t.Fatal(err)
		}
	}
	if got != 10 || src.closed.Load() != 1 {
		t.Errorf("%d documents, closed %d times", got, src.closed.Load())
	}
	if _, err := r.Checkout(id, reach); code(err) != 43 {
		t.Error(err)
	}
	if st := r.Stats(); st.Open != 0 || st.Opened != 1 {
		t.Errorf("%+v", st)
	}
}

func TestAccess(t *testing.T) {
	in := func(s session.ID, n int64, user collection.User) Options {
		return Options{Namespace: ns, Session: s, TxnNumber: n, User: user}
	}
	by := func(s session.ID, n int64, user collection.User) Access {
		return Access{Namespace: ns, Session: s, TxnNumber: n, User: user}
	}
	none, nobody := session.ID{}, collection.User{}
	for i, c := range []struct {
		o    Options
		a    Access
		want int
	}{
		{open, reach, 0},
		{open, Access{Namespace: collection.Namespace{DB: "db", Coll: "d"}, TxnNumber: -1}, 13},
		{in(none, -1, collection.User{Name: "a", DB: "b@c"}), by(none, -1, collection.User{Name: "a@b", DB: "c"}), 13},
		{in(none, -1, collection.User{Name: "u", DB: "a", ID: [16]byte{1}}), by(none, -1, collection.User{Name: "u", DB: "a", ID: [16]byte{2}}), 13},
		{in(none, -1, nobody), by(sidA, -1, nobody), 50736},
		{in(sidA, -1, nobody), by(none, -1, nobody), 50737},
		{in(sidA, -1, nobody), by(sidB, -1, nobody), 50738},
		{in(sidA, -1, nobody), by(sidA, 1, nobody), 50739},
		{in(sidA, 1, nobody), by(sidA, -1, nobody), 50740},
		{in(sidA, 1, nobody), by(sidA, 2, nobody), 50741},
		{in(sidA, 1, collection.User{Name: "u", DB: "a"}), by(sidA, 1, collection.User{Name: "u", DB: "a"}), 0},
	} {
		r := New(Config{})
		id, src := add(t, r, c.o)
		got, err := r.Checkout(id, c.a)
		if code(err) != c.want {
			t.Errorf("%d: %v, want %d", i, err, c.want)
		}
		if err == nil {
			if _, err := r.Checkout(id, c.a); code(err) != 143 {
				t.Errorf("%d: used by two: %v", i, err)
			}
			got.Checkin(0, true)
		}
		r.Close()
		if src.closed.Load() != 1 {
			t.Errorf("%d: closed %d times", i, src.closed.Load())
		}
	}
}

func TestKill(t *testing.T) {
	r := New(Config{})
	id, src := add(t, r, open)
	deny := errors.New("not yours")
	if found, err := r.Kill(id, func(*Options) error { return deny }); !found || err != deny || src.closed.Load() != 0 {
		t.Error(found, err)
	}
	for i := range 2 {
		if found, err := r.Kill(id, nil); found != (i == 0) || err != nil || src.closed.Load() != 1 {
			t.Errorf("kill %d: %v %v, closed %d", i, found, err, src.closed.Load())
		}
	}

	// A cursor that is killed while a command uses it is closed only when this command checks it in.
	id, src = add(t, r, open)
	var cause error
	a := reach
	a.Interrupt = func(err error) { cause = err }
	c, err := r.Checkout(id, a)
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := r.Kill(id, nil); !found || cause != ErrKilled || src.closed.Load() != 0 {
		t.Errorf("cause %v, closed %d", cause, src.closed.Load())
	}
	if left := c.Checkin(1, true); left != id || src.closed.Load() != 1 {
		t.Errorf("id %d, closed %d", left, src.closed.Load())
	}
}

func TestKillMany(t *testing.T) {
	r := New(Config{})
	o := func(s session.ID, n int64, user collection.User) Options {
		return Options{Namespace: ns, Session: s, TxnNumber: n, User: user}
	}
	u, v := collection.User{Name: "u"}, collection.User{Name: "u", ID: [16]byte{1}} // of the same name, created later
	for _, x := range []Options{o(sidA, 1, u), o(sidA, 2, u), o(sidA, -1, u), o(sidB, 1, u), o(sidB, -1, v)} {
		add(t, r, x)
	}
	if a, b, c := r.KillTxn(sidA, 1), r.KillSession(sidA), r.KillUser(v); a != 1 || b != 2 || c != 1 || r.Stats().Open != 1 {
		t.Error(a, b, c, r.Stats())
	}
}

func TestPoison(t *testing.T) {
	r := New(Config{})
	why := mongoerr.New(mongoerr.QueryPlanKilled, "collection dropped")
	other := open
	other.Namespace.Coll = "d"
	a, srcA := add(t, r, open)
	b, _ := add(t, r, other)
	if n := r.Poison(ns, why); n != 1 {
		t.Errorf("%d poisoned", n)
	}
	if _, err := r.Checkout(a, reach); code(err) != 175 || srcA.closed.Load() != 1 {
		t.Error(err)
	}
	if _, err := r.Checkout(a, reach); code(err) != 43 {
		t.Error(err)
	}
	if n := r.Poison(collection.Namespace{DB: "db"}, why); n != 1 {
		t.Errorf("%d poisoned", n)
	}
	if found, _ := r.Kill(b, nil); !found {
		t.Error("killCursors does not find it")
	}
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		ctx, stop := context.WithCancel(t.Context())
		go r.Run(ctx)
		forever, inTxn := open, open
		forever.NoTimeout, inTxn.TxnNumber = true, 1
		add(t, r, forever)
		add(t, r, inTxn)
		id, src := add(t, r, open)
		pinned, _ := add(t, r, open)
		c, _ := r.Checkout(pinned, reach)

		time.Sleep(9 * time.Minute)
		used, err := r.Checkout(id, reach)
		if err != nil {
			t.Fatal(err)
		}
		used.Checkin(0, true)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if src.closed.Load() != 0 {
			t.Error("closed although used")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if st := r.Stats(); src.closed.Load() != 1 || st.TimedOut != 1 || st.Open != 3 || st.Pinned != 1 || st.NoTimeout != 1 {
			t.Errorf("closed %d, %+v", src.closed.Load(), st)
		}
		c.Checkin(0, false)
		r.SetIdleMax(time.Second)
		r.Close()
		stop()
	})
}

func TestMax(t *testing.T) {
	r := New(Config{Max: 2})
	add(t, r, open)
	add(t, r, open)
	src := &count{}
	if _, err := r.Add(open, src, nil); code(err) != 96 || src.closed.Load() != 0 {
		t.Error(err)
	}
}

// TestMaxOfAccounts checks that one account alone may have two thirds of all cursors, which leaves room for other
// accounts, and that closed cursors do not count.
func TestMaxOfAccounts(t *testing.T) {
	r := New(Config{Max: 30})
	fill := func(account string) (n int, last *Cursor) {
		o := open
		o.Account = account
		for {
			c, err := r.Add(o, &count{to: 1}, nil)
			if err != nil {
				if code(err) != 96 {
					t.Error(err)
				}
				return n, last
			}
			n, last = n+1, c
		}
	}
	n, c := fill("a")
	if n != 20 {
		t.Errorf("alone an account has %d", n)
	}
	if n, _ := fill("b"); n < 6 {
		t.Errorf("another has %d", n)
	}
	c.Checkin(0, false)
	if n, _ := fill("c"); n == 0 {
		t.Error("a third has none")
	}
	if n, _ := fill("a"); n != 0 {
		t.Errorf("the first gets %d more", n)
	}
}

// ample is a source of documents that holds memory, and less of it when it is parked.
type ample struct {
	count
	parked atomic.Int32
	busy   int // how many calls of Park find it at work
}

func (s *ample) Held() int64 {
	if s.parked.Load() > 0 {
		return 100 << 10
	}
	return 1 << 20
}

func (s *ample) Park() bool {
	if s.inUse.Swap(true) || s.closed.Load() > 0 {
		panic("parked while used by another, or closed")
	}
	defer s.inUse.Store(false)
	if s.busy > 0 {
		s.busy--
		return false
	}
	s.parked.Add(1)
	return true
}

func (s *ample) Append(ctx context.Context, b *bson.Builder, max, maxBytes int) (int, bool, error) {
	s.parked.Store(0)
	return s.count.Append(ctx, b, max, maxBytes)
}

// addAmple opens a cursor over an ample for a connection, checks it in, and returns its id and its source.
func addAmple(t *testing.T, r *Registry, conn int64) (ID, *ample) {
	t.Helper()
	o := open
	o.Conn = conn
	src := &ample{count: count{to: 10}}
	c, err := r.Add(o, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Checkin(0, true), src
}

// TestPark checks that only the most recently used of the idle cursors stay warm, that a source which is at work is
// parked later, and that the next batch of a parked cursor continues the stream.
func TestPark(t *testing.T) {
	r := New(Config{WarmMax: 2})
	ids, sources := []ID{}, []*ample{}
	for range 4 {
		id, src := addAmple(t, r, 1)
		ids, sources = append(ids, id), append(sources, src)
	}
	parked := func(want ...int32) {
		t.Helper()
		for i, n := range want {
			if got := sources[i].parked.Load(); got != n {
				t.Errorf("cursor %d was parked %d times, want %d", i, got, n)
			}
		}
	}
	parked(1, 1, 0, 0)
	if st := r.Stats(); st.Bytes != 4*cursorBytes+2<<20+200<<10 {
		t.Errorf("%d bytes", st.Bytes)
	}
	c, err := r.Checkout(ids[0], reach)
	if err != nil {
		t.Fatal(err)
	}
	if n, more, err := c.Append(t.Context(), bson.NewArrayBuilder(nil), 3, 1000); n != 3 || !more || err != nil {
		t.Error(n, more, err)
	}
	r.park(0) // not this one
	parked(0, 1, 1, 1)
	c.Checkin(3, true)
	sources[0].busy = 1
	r.park(0)
	parked(0)
	r.park(0)
	parked(1, 1, 1, 1)
	r.Close()
	if st := r.Stats(); st.Bytes != 0 || r.budget.warm.Len() > 0 || len(r.budget.shares) > 0 {
		t.Errorf("%+v is left", st)
	}
}

// TestRelease checks that Release parks an idle cursor once and keeps it open, and reports unknown cursors, those in use
// and those whose source was at work.
func TestRelease(t *testing.T) {
	r := New(Config{})
	defer r.Close()
	id, src := addAmple(t, r, 1)
	release := func(id ID, want Released, parked int32) {
		t.Helper()
		if got := r.Release(id); got != want || src.parked.Load() != parked {
			t.Errorf("%d, parked %d times", got, src.parked.Load())
		}
	}
	release(id+1, NoSuchCursor, 0)
	src.busy = 1
	release(id, InUse, 0)
	release(id, ReleasedMemory, 1)
	release(id, ReleasedMemory, 1)
	if st := r.Stats(); st.Bytes != cursorBytes+100<<10 || st.Open != 1 {
		t.Errorf("%+v", st)
	}
	c, err := r.Checkout(id, reach)
	if err != nil {
		t.Fatal(err)
	}
	release(id, InUse, 1)
	if n, more, err := c.Append(t.Context(), bson.NewArrayBuilder(nil), 3, 1000); n != 3 || !more || err != nil {
		t.Error(n, more, err)
	}
	c.Checkin(3, true)
	release(id, ReleasedMemory, 1)
}

// TestEvict checks that, when memory runs out, the connections whose cursors hold most lose their least recently used
// cursors, and a connection with one cursor loses none.
func TestEvict(t *testing.T) {
	r := New(Config{BytesMax: 16 << 20, WarmMax: 100})
	id, quiet := addAmple(t, r, 7)
	var ids []ID
	for i := range 100 {
		id, _ := addAmple(t, r, int64(i%2))
		ids = append(ids, id)
	}
	st := r.Stats()
	if st.Bytes > 17<<20 || st.Open < 10 || int(st.Evicted) != 101-st.Open {
		t.Errorf("%+v", st)
	}
	if quiet.closed.Load() > 0 {
		t.Error("a client with one cursor has lost it")
	}
	for i, id := range append(ids[len(ids)-5:], id) {
		if c, err := r.Checkout(id, reach); err != nil {
			t.Errorf("%d of the latest: %v", i, err)
		} else {
			c.Checkin(0, true)
		}
	}
	if _, err := r.Checkout(ids[0], reach); code(err) != 43 {
		t.Error(err)
	}
	r.Close()
}

// TestConcurrent uses and kills the same cursors from many goroutines. Their sources panic if two goroutines
// use one at the same time, or if one is closed while it is used.
func TestConcurrent(t *testing.T) {
	r := New(Config{WarmMax: 5, BytesMax: 45 << 20})
	var sources []*ample
	var ids []ID
	for range 50 {
		src := &ample{count: count{to: 1000}, busy: 1}
		c, err := r.Add(open, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		sources, ids = append(sources, src), append(ids, c.Checkin(0, true))
	}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 2000 {
				id := ids[(i*7+w)%len(ids)]
				if w == 0 && i%40 == 0 {
					r.Kill(id, nil)
					continue
				}
				c, err := r.Checkout(id, reach)
				if err != nil {
					if k := code(err); k != 43 && k != 143 {
						t.Error(err)
					}
					continue
				}
				n, more, _ := c.Append(t.Context(), bson.NewArrayBuilder(nil), 3, 1000)
				c.Checkin(n, more)
			}
		})
	}
	wg.Wait()
	r.Close()
	for i, s := range sources {
		if s.closed.Load() != 1 {
			t.Errorf("source %d closed %d times", i, s.closed.Load())
		}
	}
	if fmt.Sprint(len(r.List())) != "0" {
		t.Error("cursors left")
	}
}
