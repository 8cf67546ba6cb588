package changestream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// world is a store whose log tests write directly.
type world struct {
	*testing.T
	store storage.Store
	cat   *catalog.Catalog
	hub   *Hub
}

func newWorld(t *testing.T) *world {
	s := memkv.Open(memkv.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := catalog.Open(t.Context(), s, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, s, c, NewHub(s)}
}

// commit writes records in one commit.
func (w *world) commit(recs ...changelog.Record) storage.Timestamp {
	w.Helper()
	txn, err := w.store.Begin(w.Context(), storage.TxnOptions{})
	if err != nil {
		w.Fatal(err)
	}
	defer txn.Close()
	for _, r := range recs {
		enc := r.Append(nil)
		if r.Op == changelog.Command {
			w.ok(txn.AppendLog(changelog.Commands, enc))
		}
		w.ok(txn.AppendLog(changelog.Stream, enc))
	}
	ts, err := txn.Commit(w.Context(), storage.Synced)
	w.ok(err)
	return ts
}

// create makes a collection of db in the catalog.
func (w *world) create(name string) (id keyspace.CollectionID) {
	w.Helper()
	w.ok(w.cat.Change(w.Context(), func(m *catalog.Mutation) error {
		c, err := m.NewCollection(mql.NewEnv(w.Context()), collection.Namespace{DB: "db", Coll: name}, nil)
		if err != nil {
			return err
		}
		id = c.ID
		return m.Put(c)
	}))
	return id
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func insert(coll keyspace.CollectionID, id int) changelog.Record {
	return changelog.Record{Op: changelog.Insert, Collection: coll, Doc: bsontest.MustDoc(fmt.Sprintf("{_id: %d}", id))}
}

func ddl(coll keyspace.CollectionID, text string) changelog.Record {
	return changelog.Record{Op: changelog.Command, Collection: coll, Doc: bsontest.MustDoc(text)}
}

// open opens a stream on a collection of db, or with "" on db.
func (w *world) open(coll string, spec Spec) *Stream {
	w.Helper()
	s, err := Open(mql.NewEnv(w.Context()), Source{Store: w.store, Hub: w.hub, Catalog: w.cat.Peek}, collection.Namespace{DB: "db", Coll: coll}, &spec)
	w.ok(err)
	return s
}

// drain reads the events that a stream has now, but no more than most, and returns each as operationType:_id, with its
// token.
func (w *world) drain(s *Stream, most int) (events []string, tokens []Token) {
	w.Helper()
	env := mql.NewEnv(w.Context())
	for len(events) < most {
		d, err := s.Next(env)
		w.ok(err)
		if d == nil {
			break
		}
		kind, _ := d.Get("operationType").Str()
		if key, ok := d.Get("documentKey").Doc(); ok {
			kind += ":" + key.Get("_id").String()
		}
		events = append(events, kind)
		id, _ := d.Get("_id").Doc()
		t, err := ParseToken(id)
		w.ok(err)
		tokens = append(tokens, t)
	}
	return events, tokens
}

// history writes a log in which collections 1, 2, 3 and 4 have the name db.c one after the other, and returns the
// events for a stream on each scope.
func (w *world) history() (ofC, ofDB []string) {
	w.commit(ddl(1, `{ns: "db.$cmd", o: {create: "c"}}`))
	w.commit(insert(1, 1), insert(9, 100), insert(1, 2))
	w.commit(ddl(2, `{ns: "db.$cmd", o: {create: "other"}}`), insert(2, 3))
	w.commit(insert(1, 4))
	w.commit(ddl(2, `{ns: "db.$cmd", o: {renameCollection: "db.other", to: "db.c"}, o2: {collection: NumberLong("1")}}`))
	w.commit(insert(2, 5))
	w.commit(ddl(2, `{ns: "db.$cmd", o: {drop: "c"}, o2: {collection: NumberLong("2")}}`))
	w.commit(ddl(3, `{ns: "db.$cmd", o: {create: "c"}}`))
	w.commit(insert(3, 6))
	w.commit(ddl(4, `{ns: "db.$cmd", o: {shardCollection: "db.c", shardKey: {a: "hashed"}}, o2: {collection: NumberLong("3")}}`))
	w.commit(insert(4, 7), insert(3, 101))
	w.commit(ddl(4, `{ns: "db.$cmd", o: {drop: "c"}, o2: {collection: NumberLong("4")}}`), ddl(0, `{ns: "db.$cmd", o: {dropDatabase: 1}}`))
	return []string{"insert:1", "insert:2", "insert:4", "rename", "invalidate", "insert:5", "drop", "invalidate", "insert:6", "insert:7", "drop", "invalidate"},
		[]string{"insert:1", "insert:2", "insert:3", "insert:4", "rename", "insert:5", "drop", "insert:6", "insert:7", "drop", "dropDatabase", "invalidate"}
}

// TestRenameIntoOtherDatabase checks that a collection that is renamed into another database is dropped, for streams that
// include its old name.
func TestRenameIntoOtherDatabase(t *testing.T) {
	w := newWorld(t)
	start := w.commit(ddl(1, `{ns: "db.$cmd", o: {create: "c"}}`))
	w.commit(ddl(1, `{ns: "db.$cmd", o: {renameCollection: "db.c", to: "far.c"}}`))
	for scope, want := range map[string][]string{"c": {"drop", "invalidate"}, "": {"drop"}} {
		s := w.open(scope, Spec{HasStartAt: true, StartAt: start})
		if got, _ := w.drain(s, 100); !reflect.DeepEqual(got, want) {
			t.Errorf("scope %q: %v, want %v", scope, got, want)
		}
	}
}

// TestResumeAnywhere checks that a stream that is stopped after any event and resumed by its token misses
// nothing and repeats nothing, although names of collections changed meanwhile.
func TestResumeAnywhere(t *testing.T) {
	w := newWorld(t)
	start := w.commit(insert(99, 0))
	ofC, ofDB := w.history()
	for scope, want := range map[string][]string{"c": ofC, "": ofDB} {
		var got []string
		at := Token{Time: start, Mark: true}
		for steps := 0; len(got) < len(want) && steps < 100; steps++ {
			s := w.open(scope, Spec{Resume: &at, StartAfter: true})
			events, tokens := w.drain(s, 1)
			if len(events) == 0 {
				break
			}
			got = append(got, events...)
			at = tokens[0]
			if !s.Token().Same(at) {
				t.Errorf("token %+v after event %+v", s.Token(), at)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("scope %q: one by one\n%v\nwant\n%v", scope, got, want)
		}
	}
	// In one go, a stream ends with its collection.
	s := w.open("c", Spec{HasStartAt: true, StartAt: start})
	if got, _ := w.drain(s, 100); !reflect.DeepEqual(got, ofC[:5]) || !s.Ended() {
		t.Errorf("in one go: %v", got)
	}
}

// TestTokenMustBeFound checks that a token of another stream is rejected when the stream gets past
// its place.
func TestTokenMustBeFound(t *testing.T) {
	w := newWorld(t)
	ts := w.commit(ddl(1, `{ns: "db.$cmd", o: {create: "c"}}`), insert(8, 1))
	s := w.open("c", Spec{Resume: &Token{Time: ts, Ordinal: 1}})
	if got, _ := w.drain(s, 10); len(got) != 0 {
		t.Error(got)
	}
	w.commit(insert(1, 1))
	if _, err := s.Next(mql.NewEnv(t.Context())); err == nil {
		t.Error("a foreign token was taken")
	}
}

// TestHistoryLost checks that a stream whose place has been truncated from the log fails: an open one at Next, a new
// one when it is opened.
func TestHistoryLost(t *testing.T) {
	w := newWorld(t)
	first := w.commit(ddl(1, `{ns: "db.$cmd", o: {create: "c"}}`))
	s := w.open("c", Spec{Resume: &Token{Time: first, Mark: true}})
	ts := w.commit(insert(1, 1))
	w.commit(insert(1, 2))
	w.ok(w.store.TruncateLog(t.Context(), changelog.Stream, ts))
	w.ok(w.store.TruncateLog(t.Context(), changelog.Commands, ts))
	env := mql.NewEnv(t.Context())
	_, err := s.Next(env)
	_, err2 := Open(env, s.src, s.ns, &Spec{Resume: &Token{Time: first, Mark: true}})
	for _, err := range []error{err, err2} {
		if err == nil || err.Error() != errHistoryLost().Error() {
			t.Errorf("%v", err)
		}
	}
}

// TestEndOfLook checks that Next returns no event after those that the log had when the stream last looked, although
// another was committed meanwhile: so a reader can end its batch while there are writers.
func TestEndOfLook(t *testing.T) {
	w := newWorld(t)
	id := w.create("c")
	s := w.open("c", Spec{})
	env := mql.NewEnv(t.Context())
	w.commit(insert(id, 0))
	for i := range 3 {
		event, err := s.Next(env)
		w.ok(err)
		if event == nil {
			t.Fatalf("no event %d", i)
		}
		last := w.commit(insert(id, i+1))
		if event, err = s.Next(env); event != nil || err != nil {
			t.Errorf("after event %d: %s, %v", i, event, err)
		}
		if at := s.Token(); !at.Mark || at.Time >= last {
			t.Errorf("the stream is at %+v, and the next event at %d", at, last)
		}
	}
}

// TestLargeCommit checks that a commit larger than one pass over the log is delivered completely
// and in order.
func TestLargeCommit(t *testing.T) {
	w := newWorld(t)
	id := w.create("c")
	s := w.open("c", Spec{})
	const n = 30_000
	recs := make([]changelog.Record, 0, n)
	for i := range n {
		recs = append(recs, insert(id, i))
	}
	w.commit(recs...)
	w.commit(insert(id, n))
	got, _ := w.drain(s, n+10)
	for i, e := range got {
		if e != fmt.Sprintf("insert:%d", i) {
			t.Fatalf("event %d is %s", i, e)
		}
	}
	if len(got) != n+1 {
		t.Errorf("%d events", len(got))
	}
}

// TestHub checks that waiting streams wake for records that concern them, without delay, and only
// then, and that nothing keeps running when none waits.
func TestHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id, _ := w.create("c"), w.create("d")
		c, d := w.open("c", Spec{}), w.open("d", Spec{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		woken := make(chan string, 2)
		var wait sync.WaitGroup
		for name, s := range map[string]*Stream{"c": c, "d": d} {
			wait.Go(func() {
				if err := s.Wait(ctx); err == nil {
					woken <- name
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		ts := w.commit(insert(id, 1))
		if got := <-woken; got != "c" || time.Since(began) > 0 {
			t.Errorf("%s woke after %v", got, time.Since(began))
		}
		wait.Wait() // d gives up after an hour
		if len(woken) != 0 {
			t.Error("d woke for c")
		}
		if d.Token().Time < ts {
			t.Errorf("d waited up to %v, the log reached %v", d.Token().Time, ts)
		}
		synctest.Wait()
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		if w.hub.running || len(w.hub.waiting) != 0 {
			t.Error("the hub still runs")
		}
	})
}

// TestManyReaders lets streams read during writes: each gets every event once, and those of one writer in order.
func TestManyReaders(t *testing.T) {
	w := newWorld(t)
	id := w.create("c")
	const writers, each = 4, 200
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var readers, writing sync.WaitGroup
	first := w.store.Latest()
	for range 6 {
		readers.Go(func() {
			env := mql.NewEnv(ctx)
			at := &Token{Time: first, Mark: true}
			s := w.open("c", Spec{Resume: at})
			next := map[int32]int32{}
			for n := 0; n < writers*each; {
				d, err := s.Next(env)
				if err != nil {
					t.Error(err)
					return
				}
				if d == nil {
					if rand.IntN(4) == 0 { // start again from here
						tok := s.Token()
						s = w.open("c", Spec{Resume: &tok})
					}
					if err := s.Wait(ctx); err != nil {
						t.Error(err)
						return
					}
					continue
				}
				full, _ := d.Get("fullDocument").Doc()
				id, _ := full.Get("_id").Int32()
				if who := id / 1000; next[who] != id%1000 {
					t.Errorf("writer %d: event %d, want %d", who, id%1000, next[who])
					return
				} else {
					next[who]++
				}
				n++
			}
		})
	}
	for i := range writers {
		writing.Go(func() {
			for j := range each {
				w.commit(insert(id, i*1000+j), insert(id+7, 1))
			}
		})
	}
	writing.Wait()
	readers.Wait()
}
