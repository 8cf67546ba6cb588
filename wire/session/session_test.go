package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// txn is a transaction of the store for these tests; it counts how often it is committed, closed and released, and how
// many commits the test's history saved with it.
type txn struct {
	storage.Txn
	err               error
	commits, closes   int
	released, history int
}

func (t *txn) Commit(context.Context, storage.Durability) (storage.Timestamp, error) {
	t.commits++
	return 42, t.err
}
func (t *txn) Close() { t.closes++ }

func (t *txn) holding() Holding { return Holding{Txn: t, Release: func() { t.released++ }} }

func id(n byte) ID { return ID{UUID: [16]byte{15: n}} }

func write(n int64) Args    { return Args{ID: id(1), TxnNumber: n} }
func start(n int64) Args    { return Args{ID: id(1), TxnNumber: n, InTxn: true, Start: true} }
func proceed(n int64) Args  { return Args{ID: id(1), TxnNumber: n, InTxn: true} }
func ending(n int64) Args   { return Args{ID: id(1), TxnNumber: n, InTxn: true, Ending: true} }
func code(err error) string { return fmt.Sprint(int32(mongoerr.CodeOf(err))) }

// TestLaterUser checks that a transaction belongs to the user that began it, not to a later user with the same name,
// whose sessions have the same owner. A command without a user may continue any transaction.
func TestLaterUser(t *testing.T) {
	r := New(Config{})
	by := func(a Args, user byte) Args {
		a.User[0] = user
		return a
	}
	s, err := r.Checkout(t.Context(), by(start(1), 1))
	if err != nil {
		t.Fatal(err)
	}
	s.Checkin()
	for _, step := range []struct {
		a    Args
		want string
	}{{by(proceed(1), 2), "251"}, {by(ending(1), 2), "251"}, {by(proceed(1), 1), "0"}, {by(ending(1), 0), "0"}} {
		s, err := r.Checkout(t.Context(), step.a)
		if code(err) != step.want {
			t.Errorf("user %d: %v, want %s", step.a.User[0], err, step.want)
		}
		if err == nil {
			s.Checkin()
		}
	}
}

// TestOwners checks that the owner of a session is the digest that drivers and MongoDB compute, except where two
// users would have the same digest.
func TestOwners(t *testing.T) {
	if OwnerOf("u", "admin") != sha256.Sum256([]byte("u@admin")) || OwnerOf("u@x", "admin") != sha256.Sum256([]byte("u@x@admin")) || OwnerOf("", "") != sha256.Sum256(nil) {
		t.Error("drivers compute other owners")
	}
	if OwnerOf("a", "b@c") == OwnerOf("a@b", "c") {
		t.Error("two users have one owner")
	}
}

// TestEndOf checks that EndOf ends the sessions of one owner, and not those of other owners.
func TestEndOf(t *testing.T) {
	var ended []ID
	r := New(Config{OnEnd: func(id ID) { ended = append(ended, id) }})
	mine, other := start(1), start(1)
	mine.ID.Owner, other.ID.Owner = OwnerOf("u", "a"), OwnerOf("u", "b")
	for _, a := range []Args{mine, other} {
		s, err := r.Checkout(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		s.Checkin()
	}
	r.EndOf(mine.ID.Owner)
	if st := r.Stats(); st.Sessions != 1 || st.Open != 1 || st.Aborted != 1 || len(ended) != 1 || ended[0] != mine.ID {
		t.Errorf("%+v, ended %v", st, ended)
	}
}

// TestRules walks scripts of commands through one session. A step is a kind, a number
// and the expected code: s start, c continue, w retryable write, C commit, A abort,
// f a statement that fails and aborts.
func TestRules(t *testing.T) {
	for _, script := range []string{
		"s1=0 c1=0 C1=0 C1=0 c1=256 A1=256 s1=117 s2=0",
		"s1=0 c1=0 A1=0 c1=251 C1=251 A1=251 s1=117 w1=217",
		"s5=0 c4=225 w4=225 s4=225 c6=251 C6=251 c5=0",
		"s1=0 s2=0 c1=225 C1=225 C2=0",
		"s1=0 w2=0 c1=225 c2=251 C2=251 s2=117 w1=225 w2=0",
		"s1=0 f1=0 c1=251 C1=251",
		"c1=251 C1=251 A1=251",
		"s0=0 C0=0",
	} {
		r := New(Config{})
		for i, step := range strings.Fields(script) {
			n := int64(step[1] - '0')
			a := map[byte]Args{'s': start(n), 'c': proceed(n), 'w': write(n), 'C': ending(n), 'A': ending(n), 'f': proceed(n)}[step[0]]
			s, err := r.Checkout(t.Context(), a)
			if err == nil {
				switch step[0] {
				case 'C':
					_, err = s.Commit(t.Context(), storage.Synced)
				case 'A', 'f':
					err = s.Abort()
				}
				s.Checkin()
			}
			if got := code(err); got != step[3:] {
				t.Errorf("%s: step %d %s: %v", script, i, step, err)
			}
		}
	}
}

// TestHolding checks that the store's transaction of a session is released exactly once in each of eight ways in
// which the session's transaction ends.
func TestHolding(t *testing.T) {
	ends := map[string]func(r *Registry, s *Session) (checkin bool){
		"commit":    func(r *Registry, s *Session) bool { s.Commit(t.Context(), storage.Synced); return true },
		"abort":     func(r *Registry, s *Session) bool { s.Abort(); return true },
		"end busy":  func(r *Registry, s *Session) bool { r.End(s.ID); return true },
		"kill busy": func(r *Registry, s *Session) bool { r.Kill(func(ID) bool { return true }); return true },
		"end idle":  func(r *Registry, s *Session) bool { s.Checkin(); r.End(s.ID); return false },
		"kill idle": func(r *Registry, s *Session) bool { s.Checkin(); r.Kill(func(ID) bool { return true }); return false },
		"abandon":   func(r *Registry, s *Session) bool { s.Checkin(); r.Abandon(s.ID, s.Begun()); return false },
		"next number": func(r *Registry, s *Session) bool {
			s.Checkin()
			n, _ := r.Checkout(t.Context(), write(9))
			n.Checkin()
			return false
		},
	}
	for name, end := range ends {
		r := New(Config{})
		s, err := r.Checkout(t.Context(), start(1))
		if err != nil {
			t.Fatal(err)
		}
		x := &txn{}
		s.Attach(x.holding())
		if r.Stats().Open != 1 {
			t.Errorf("%s: %+v", name, r.Stats())
		}
		if end(r, s) {
			s.Checkin()
		}
		if x.closes != 1 || x.released != 1 || r.Stats().Open != 0 {
			t.Errorf("%s: closed %d, released %d times, %d open", name, x.closes, x.released, r.Stats().Open)
		}
		st := r.Stats()
		if want := int64(1); st.Started != 1 || st.Committed+st.Aborted != want || (st.Committed == 1) != (name == "commit") {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

func TestCommitOutcomes(t *testing.T) {
	for _, c := range []struct {
		err   error
		state State
		again string
	}{
		{nil, Committed, "0"},
		{storage.ErrConflict, Aborted, "251"},
		{fmt.Errorf("disk: %w", storage.ErrUndetermined), Undetermined, "1"},
	} {
		r := New(Config{})
		s, _ := r.Checkout(t.Context(), start(1))
		x := &txn{err: c.err}
		s.Attach(x.holding())
		if _, err := s.Commit(t.Context(), storage.Synced); !errors.Is(err, c.err) || s.State() != c.state {
			t.Errorf("%v: %v in %v", c.err, err, s.State())
		}
		s.Checkin()
		s, err := r.Checkout(t.Context(), ending(1))
		if err == nil {
			var at storage.Timestamp
			at, err = s.Commit(t.Context(), storage.Synced)
			if err == nil && at != 42 {
				t.Errorf("repeated commit at %d", at)
			}
			s.Checkin()
		}
		if code(err) != c.again || x.commits != 1 || x.released != 1 {
			t.Errorf("%v: again %v, %d commits", c.err, err, x.commits)
		}
	}
}

func TestReplay(t *testing.T) {
	r := New(Config{ResultBytes: 1000})
	one := bson.NewBuilder(nil)
	one.Int32("n", 1)
	result := one.Doc()
	s, _ := r.Checkout(t.Context(), write(1))
	for i := range int32(100_000) {
		s.Remember(i, result)
	}
	s.Remember(200_000, bson.Empty)
	s.Remember(150_000, bson.Empty)
	s.Remember(150_000, result) // ignored
	if len(s.results.ranges) != 3 {
		t.Errorf("%d runs", len(s.results.ranges))
	}
	s.Checkin()
	s, _ = r.Checkout(t.Context(), write(1))
	for stmt, want := range map[int32]bson.Raw{0: result, 99_999: result, 100_000: nil, 150_000: bson.Empty, 200_000: bson.Empty, 200_001: nil} {
		got, ok, err := s.Replay(stmt)
		if err != nil || ok != (want != nil) || string(got) != string(want) {
			t.Errorf("statement %d: %v %v %v", stmt, got, ok, err)
		}
	}
	s.Checkin()
	s, _ = r.Checkout(t.Context(), write(2))
	if _, ok, err := s.Replay(0); ok || err != nil {
		t.Error("a new number remembers the old one's results")
	}
	if r.Stats().ResultBytes != 0 {
		t.Errorf("%+v", r.Stats())
	}
	s.Remember(0, result)
	s.Checkin()

	// Another session needs the memory for results: a retry of the older session's write is then refused.
	b := bson.NewBuilder(nil)
	b.String("s", strings.Repeat("x", 1000))
	o, _ := r.Checkout(t.Context(), Args{ID: id(2), TxnNumber: 7})
	o.Remember(0, b.Doc())
	o.Checkin()
	s, _ = r.Checkout(t.Context(), write(2))
	if _, _, err := s.Replay(0); code(err) != "217" {
		t.Errorf("dropped result: %v", err)
	}
	s.Checkin()
}

// TestAbandonSpares checks that Abandon ends neither a transaction that a command is using nor another transaction
// of the same session.
func TestAbandonSpares(t *testing.T) {
	r := New(Config{})
	interrupted := false
	a := start(1)
	a.Interrupt = func(error) { interrupted = true }
	s, err := r.Checkout(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	r.Abandon(s.ID, s.Begun())
	s.Checkin()
	r.Abandon(s.ID, s.Begun().Add(-time.Second))
	r.Abandon(id(2), s.Begun())
	if interrupted || s.State() != InProgress || r.Stats().Open != 1 {
		t.Errorf("interrupted %v, state %v, %d open", interrupted, s.State(), r.Stats().Open)
	}
}

// TestExclusive checks that a session runs one command with a txnNumber at a time, and that waiting for the session
// ends with the context.
func TestExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		s, _ := r.Checkout(t.Context(), write(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Checkout(ctx, write(2)); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if err := r.Touch(id(1), "a"); err != nil {
			t.Error(err)
		}
		go func() {
			time.Sleep(time.Second)
			s.Checkin()
		}()
		if s, err := r.Checkout(t.Context(), write(2)); err != nil || s.TxnNumber() != 2 {
			t.Error(err)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ended []ID
		r := New(Config{OnEnd: func(id ID) { mu.Lock(); defer mu.Unlock(); ended = append(ended, id) }})
		ctx, stop := context.WithCancel(t.Context())
		go r.Run(ctx)

		// An idle transaction is aborted after a minute; if a command is running in the transaction, it is
		// interrupted.
		s, _ := r.Checkout(t.Context(), start(1))
		idle := &txn{}
		s.Attach(idle.holding())
		s.Checkin()
		var cause error
		a := start(1)
		a.ID, a.Interrupt = id(2), func(err error) { mu.Lock(); defer mu.Unlock(); cause = err }
		busySession, _ := r.Checkout(t.Context(), a)
		busy := &txn{}
		busySession.Attach(busy.holding())
		time.Sleep(62 * time.Second)
		synctest.Wait()
		mu.Lock()
		if idle.closes != 1 || busy.closes != 0 || cause != ErrExpired {
			t.Errorf("idle closed %d, busy closed %d, cause %v", idle.closes, busy.closes, cause)
		}
		mu.Unlock()
		busySession.Checkin()
		if _, err := r.Checkout(t.Context(), proceed(1)); busy.closes != 1 || code(err) != "251" {
			t.Errorf("busy closed %d, then %v", busy.closes, err)
		}

		// Sessions end after half an hour without use.
		time.Sleep(29 * time.Minute)
		r.Touch(id(1), "a")
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		mu.Lock()
		if len(ended) != 1 || ended[0] != id(2) || r.Stats().Sessions != 1 {
			t.Errorf("ended %v, %+v", ended, r.Stats())
		}
		mu.Unlock()
		stop()
	})
}

// TestConcurrent runs commands with a txnNumber concurrently with kills and ends of their sessions, and checks that no
// session, transaction or stored result stays.
func TestConcurrent(t *testing.T) {
	r := New(Config{ResultBytes: 500})
	var wg sync.WaitGroup
	for w := range byte(8) {
		wg.Go(func() {
			for n := range int64(300) {
				a := Args{ID: id(w % 3), TxnNumber: n, InTxn: n%2 == 0, Start: n%2 == 0}
				s, err := r.Checkout(t.Context(), a)
				if err == nil {
					if s.State() == InProgress {
						s.Attach((&txn{}).holding())
					} else {
						s.Remember(int32(n), bson.Empty)
					}
					s.Checkin()
				}
				switch n % 50 {
				case 0:
					r.Kill(func(x ID) bool { return x == id(w%3) })
				case 1:
					r.End(id(w % 3))
				}
			}
		})
	}
	wg.Wait()
	r.End(id(0), id(1), id(2))
	if st := r.Stats(); st.Sessions != 0 || st.Open != 0 || st.ResultBytes != 0 || st.Started != st.Aborted {
		t.Errorf("%+v", st)
	}
}

// past is a History of one session.
type past struct {
	StoredState
	saved []StatementResult
}

func (p *past) Load(_ context.Context, x ID) (StoredState, bool, error) {
	return p.StoredState, x == id(1), nil
}
func (p *past) Save(_ storage.Txn, _ ID, n int64, first, last int32, r bson.Raw) error {
	p.saved = append(p.saved, StatementResult{first, last, r})
	return nil
}
func (p *past) SaveCommit(t storage.Txn, _ ID, n int64) error { t.(*txn).history++; return nil }
func (p *past) MakeFinal(context.Context, ID, []int32) error  { return nil }
func (p *past) MakeCommitFinal(context.Context, ID, int64) (storage.Timestamp, bool, error) {
	return 0, false, nil
}
func (p *past) Forget(context.Context, []ID) error { return nil }

func TestHistory(t *testing.T) {
	h := &past{StoredState: StoredState{TxnNumber: 5, Results: []StatementResult{{0, 0, bson.Empty}}}}
	r := New(Config{History: h})
	if _, err := r.Checkout(t.Context(), write(4)); code(err) != "225" {
		t.Error(err)
	}
	s, err := r.Checkout(t.Context(), write(5))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.Replay(0); !ok {
		t.Error("result of an earlier life is forgotten")
	}
	s.SaveResult(t.Context(), nil, 1, 1, bson.Empty)
	s.Checkin()
	s, _ = r.Checkout(t.Context(), start(6))
	x := &txn{}
	s.Attach(x.holding())
	s.Commit(t.Context(), storage.Synced)
	s.Checkin()
	if len(h.saved) != 1 || x.history != 1 {
		t.Errorf("saved %v, commits noted %d", h.saved, x.history)
	}
	h.StoredState = StoredState{TxnNumber: 6, Committed: true}
	s, err = New(Config{History: h}).Checkout(t.Context(), ending(6))
	if err != nil || s.State() != Committed {
		t.Error(err)
	}
}

func TestParseArgs(t *testing.T) {
	lsid := `lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}`
	for in, want := range map[string]string{
		`{ping: 1}`:      "-1 false false",
		`{` + lsid + `}`: "-1 false false",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}}`:                                              "3 false false",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, autocommit: false}`:                           "3 true false",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, autocommit: false, startTransaction: true}`:   "3 true true",
		`{lsid: null, txnNumber: null, autocommit: null}`:                                            "-1 false false",
		`{` + lsid + `, txnNumber: {$numberInt: "3"}}`:                                               "error 14",
		`{` + lsid + `, txnNumber: {$numberLong: "-3"}}`:                                             "error 72",
		`{` + lsid + `, autocommit: false}`:                                                          "error 72",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, autocommit: true}`:                            "error 72",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, startTransaction: true}`:                      "error 72",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, autocommit: false, startTransaction: false}`:  "error 72",
		`{` + lsid + `, txnNumber: {$numberLong: "3"}, autocommit: {$numberInt: "0"}}`:               "error 14",
		`{txnNumber: {$numberLong: "3"}}`:                                                            "error 72",
		`{lsid: 1}`:                                                                                  "error 14",
		`{lsid: {}}`:                                                                                 "error 40414",
		`{lsid: {id: "x"}}`:                                                                          "error 14",
		`{lsid: {id: {$binary: {base64: "AAA=", subType: "04"}}}}`:                                   "error 207",
		`{lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "00"}}}}`:               "error 14",
		`{lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}, foo: 1}}`:       "error 40415",
		`{lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}, txnNumber: 1}}`: "error 72",
		`{lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}, uid: {$binary: {base64: "AAA=", subType: "00"}}}}`: "error 12",
	} {
		body := bsontest.Doc(t, in)
		a, err := ParseArgs(body, "find", OwnerOf("", ""))
		got := fmt.Sprint(a.TxnNumber, " ", a.InTxn, " ", a.Start)
		if err != nil {
			got = "error " + code(err)
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", in, got, err, want)
		}
	}
}

func TestID(t *testing.T) {
	a, b := NewID(OwnerOf("u", "admin")), NewID(OwnerOf("u", "admin"))
	if a == b || a.IsZero() || a.UUID[6]>>4 != 4 || a.UUID[8]>>6 != 2 {
		t.Errorf("%v %v", a, b)
	}
	if s := id(0xab).String(); s != "00000000-0000-0000-0000-0000000000ab" {
		t.Error(s)
	}
	d := bson.NewBuilder(nil)
	a.Append(d, "lsid")
	v, _ := d.Doc().Lookup("lsid")
	if back, err := ParseID(v, a.Owner, "lsid"); err != nil || back != a {
		t.Errorf("%v %v", back, err)
	}
}
