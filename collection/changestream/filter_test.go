package changestream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// filter makes the Filter of a $match; nil if it cannot be one.
func (w *world) filter(text string) *Filter {
	w.Helper()
	env := mql.NewEnv(w.Context())
	n, err := match.Parse(env, bsontest.MustDoc(text))
	w.ok(err)
	return NewFilter(env, n)
}

// TestFilterHead checks which operations on documents of db.c a filter excludes without reading
// events, and which filters are left to the pipeline.
func TestFilterHead(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		`{}`:                        "insert update replace delete",
		`{operationType: "insert"}`: "insert",
		`{operationType: {$in: ["update", "delete"]}}`:              "update delete",
		`{operationType: {$not: {$eq: "update"}}}`:                  "insert replace delete",
		`{operationType: {$ne: "drop"}, "fullDocument.a": 1}`:       "insert update replace delete",
		`{operationType: "drop"}`:                                   "",
		`{operationType: "insert", "ns.coll": "other"}`:             "",
		`{operationType: "insert", ns: {db: "db", coll: "c"}}`:      "insert",
		`{$or: [{operationType: "insert"}, {operationType: /^r/}]}`: "insert replace",
		`{$or: [{operationType: "insert"}, {"fullDocument.a": 1}]}`: "insert update replace delete",
		`{$nor: [{operationType: "insert"}]}`:                       "update replace delete",
		`{$expr: {$eq: ["$operationType", "insert"]}}`:              "none",
		`{a: {$elemMatch: {_id: 1}}}`:                               "none",
		`{"_id._data": "82"}`:                                       "none",
		`{$jsonSchema: {}}`:                                         "none",
	} {
		f := w.filter(text)
		got := "none"
		if f != nil {
			ops := f.ops(mql.NewEnv(t.Context()), collection.Namespace{DB: "db", Coll: "c"})
			var names []string
			for op, name := range operations {
				if name != "" && ops.has(changelog.Op(op)) {
					names = append(names, name)
				}
			}
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestFilterSleeps checks that a waiting stream is not woken by events that its filter drops, that
// its token still moves past them, and that it is woken by an event that passes.
func TestFilterSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := w.create("c")
		var streams []*Stream
		for _, text := range []string{`{operationType: "delete"}`, `{"documentKey._id": 7}`, `{"documentKey._id": 7}`} {
			streams = append(streams, w.open("c", Spec{Filter: w.filter(text)}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		woken := make(chan int, len(streams))
		var wait sync.WaitGroup
		for i, s := range streams {
			wait.Go(func() {
				if err := s.Wait(ctx); err == nil {
					woken <- i
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(w.hub.filters); n != 2 {
			t.Errorf("%d sieves for 2 different questions", n)
		}
		for i := range 5 {
			w.commit(insert(id, i))
			time.Sleep(time.Second)
		}
		if len(woken) != 0 {
			t.Errorf("stream %d woke for what its filter drops", <-woken)
		}
		ts := w.commit(insert(id, 7))
		if a, b := <-woken, <-woken; a+b != 3 {
			t.Errorf("streams %d and %d woke", a, b)
		}
		wait.Wait()
		if at := streams[0].Token(); at.Time < ts || !at.Mark {
			t.Errorf("the sleeper is at %v, the log at %v", at.Time, ts)
		}
		for _, s := range streams[1:] {
			if got, _ := w.drain(s, 10); !reflect.DeepEqual(got, []string{"insert:7"}) {
				t.Error(got)
			}
		}
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		if len(w.hub.filters) != 0 {
			t.Error("sieves are left with nobody waiting")
		}
	})
}

// TestFiltered lets streams with nine filters, on a database and on a collection, wait and read while documents and
// names change: each delivers exactly those events of a later read of the whole log that its filter accepts.
func TestFiltered(t *testing.T) {
	w := newWorld(t)
	start := w.commit(insert(99, 0))
	filters := []string{
		`{}`, `{operationType: "insert"}`, `{operationType: {$in: ["delete", "rename", "invalidate"]}}`, `{"fullDocument.v": {$gt: 7}}`,
		`{"documentKey._id": 3}`, `{"ns.coll": "b"}`, `{$or: [{operationType: "drop"}, {"updateDescription.updatedFields.v": 1}]}`,
		`{fullDocument: {$exists: false}, operationType: {$ne: "update"}}`, `{clusterTime: {$type: "timestamp"}, "ns.coll": {$ne: "a"}}`,
	}
	type reader struct {
		scope, filter string
		spec          Spec
		got           []string
	}
	var all []*reader
	for _, text := range filters {
		for _, scope := range []string{"", "a"} {
			for range 2 { // two that share a filter
				all = append(all, &reader{scope: scope, filter: text, spec: Spec{Filter: w.filter(text)}})
			}
			all = append(all, &reader{scope: scope, filter: text, spec: Spec{Filter: w.filter(text), Expanded: true, Before: BeforeRequired}})
		}
	}
	name := func(d bson.Raw) string {
		id, _ := d.Get("_id").Doc()
		tok, err := ParseToken(id)
		w.ok(err)
		kind, _ := d.Get("operationType").Str()
		return fmt.Sprintf("%d/%d/%d %s", tok.Time, tok.Ordinal, tok.Sub, kind)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	last := storage.Timestamp(0)
	read := func(r *reader) {
		env := mql.NewEnv(ctx)
		spec := r.spec
		spec.Resume = &Token{Time: start, Mark: true}
		s := w.open(r.scope, spec)
		for ctx.Err() == nil {
			d, err := s.Next(env)
			if err != nil {
				t.Error(err)
				return
			}
			if d != nil {
				r.got = append(r.got, name(d))
				continue
			}
			if s.Ended() { // continue after the end, once all writes are done: only then the present catalog is right
				<-done
				tok := s.Token()
				spec := r.spec
				spec.Resume, spec.StartAfter = &tok, true
				s = w.open(r.scope, spec)
				continue
			}
			select {
			case <-done:
				if s.Token().Time >= last {
					return
				}
			default:
			}
			short, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(30))*time.Millisecond)
			_ = s.Wait(short)
			stop()
		}
		t.Errorf("%q of %q did not come to the end", r.filter, r.scope)
	}
	var readers sync.WaitGroup
	for _, r := range all {
		readers.Go(func() { read(r) })
	}
	last = w.churn(start)
	close(done)
	readers.Wait()

	for _, r := range all {
		env := mql.NewEnv(t.Context())
		n, err := match.Parse(env, bsontest.MustDoc(r.filter))
		w.ok(err)
		want := []string(nil)
		at := Token{Time: start, Mark: true}
		for more := true; more; {
			spec := r.spec
			spec.Filter, spec.Resume, spec.StartAfter = nil, &at, true
			s := w.open(r.scope, spec)
			for {
				d, err := s.Next(env)
				w.ok(err)
				if d == nil {
					break
				}
				ok, err := n.Matches(env, d, &expr.Scratch{})
				w.ok(err)
				if ok {
					want = append(want, name(d))
				}
			}
			at, more = s.Token(), s.Ended()
		}
		if len(want) == 0 && r.filter != "{}" && r.scope == "" {
			t.Errorf("nothing passes %s", r.filter)
		}
		if !reflect.DeepEqual(r.got, want) {
			i := 0
			for i < min(len(r.got), len(want)) && r.got[i] == want[i] {
				i++
			}
			t.Errorf("%s of %q: got %d events, want %d; the first %d are equal; then\n%.200v\n%.200v", r.filter, r.scope, len(r.got), len(want), i, r.got[i:], want[i:])
		}
	}
}

// churn commits log records of random changes of documents and names for a while; the catalog and the documents do not
// change. Every record of a document but an insert has its pre-image. It returns the time of the last commit.
func (w *world) churn(start storage.Timestamp) storage.Timestamp {
	number := keyspace.CollectionID(10)
	of := map[string]keyspace.CollectionID{}
	last := start
	for i := range 600 {
		coll := []string{"a", "b"}[rand.IntN(2)]
		switch id := of[coll]; {
		case id == 0:
			number++
			of[coll] = number
			last = w.commit(ddl(number, fmt.Sprintf(`{ns: "db.$cmd", o: {create: %q}}`, coll)))
		case i%50 == 49:
			delete(of, coll)
			last = w.commit(ddl(id, fmt.Sprintf(`{ns: "db.$cmd", o: {drop: %q}, o2: {collection: NumberLong("%d")}}`, coll, id)))
		case i%70 == 69 && coll == "b":
			o2 := "{}"
			if of["a"] != 0 {
				o2 = fmt.Sprintf(`{collection: NumberLong("%d")}`, of["a"])
			}
			of["a"] = id
			delete(of, "b")
			last = w.commit(ddl(id, `{ns: "db.$cmd", o: {renameCollection: "db.b", to: "db.a"}, o2: `+o2+`}`))
		default:
			var recs []changelog.Record
			for range 1 + rand.IntN(3) {
				key, v := bsontest.MustDoc(fmt.Sprintf("{_id: %d}", rand.IntN(6))), rand.IntN(10)
				full := bsontest.MustDoc(fmt.Sprintf("{_id: %s, v: %d}", key.Get("_id"), v))
				r := changelog.Record{Op: changelog.Op(1 + rand.IntN(4)), Collection: id, Key: key, Doc: full, Pre: full}
				switch r.Op {
				case changelog.Insert:
					r.Pre = nil
				case changelog.Update:
					r.Doc, r.Delta = nil, bsontest.MustDoc(fmt.Sprintf("{updatedFields: {v: %d}, removedFields: [], truncatedArrays: []}", v))
				case changelog.Delete:
					r.Doc = nil
				}
				recs = append(recs, r)
			}
			last = w.commit(recs...)
		}
		if i%20 == 0 {
			time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
		}
	}
	for coll, id := range of {
		last = w.commit(ddl(id, fmt.Sprintf(`{ns: "db.$cmd", o: {drop: %q}, o2: {collection: NumberLong("%d")}}`, coll, id)))
	}
	return last
}

// TestFilterLookup checks that a filter on fullDocument is evaluated on the document that is looked
// up, although the log does not contain it.
func TestFilterLookup(t *testing.T) {
	w := newWorld(t)
	id := w.create("c")
	src := Source{Store: w.store, Hub: w.hub, Catalog: w.cat.Peek, Lookup: func(*mql.Env, [16]byte, *changelog.Record) (bson.Raw, error) {
		return bsontest.MustDoc("{_id: 1, v: 5}"), nil
	}}
	s, err := Open(mql.NewEnv(t.Context()), src, collection.Namespace{DB: "db", Coll: "c"}, &Spec{FullDocument: FullLookup, Filter: w.filter(`{"fullDocument.v": 5}`)})
	w.ok(err)
	go func() {
		time.Sleep(10 * time.Millisecond)
		w.commit(changelog.Record{Op: changelog.Update, Collection: id, Key: bsontest.MustDoc("{_id: 1}"), Delta: bsontest.MustDoc("{updatedFields: {x: 1}}")})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w.ok(s.Wait(ctx))
	if got, _ := w.drain(s, 10); !reflect.DeepEqual(got, []string{"update:1"}) {
		t.Error(got)
	}
}

// TestWaitFor checks which log records wake WaitFor, by which tailable cursors wait: inserts, deletes and a drop of its
// collection, but no updates, and nothing of another collection.
func TestWaitFor(t *testing.T) {
	for text, record := range map[string]changelog.Record{
		"insert": insert(1, 1),
		"delete": {Op: changelog.Delete, Collection: 1, Key: bsontest.MustDoc("{_id: 1}")},
		"drop":   ddl(1, `{ns: "db.$cmd", o: {drop: "c"}}`),
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			start := w.commit(insert(9, 1))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			woke := make(chan error, 1)
			go func() { woke <- w.hub.WaitFor(ctx, start, 1) }()
			w.commit(insert(2, 1))
			w.commit(changelog.Record{Op: changelog.Update, Collection: 1, Key: bsontest.MustDoc("{_id: 1}"), Delta: bsontest.MustDoc("{updatedFields: {a: 1}}")})
			time.Sleep(time.Second)
			if len(woke) != 0 {
				t.Error("it woke for what it cannot find")
			}
			w.commit(record)
			if err := <-woke; err != nil {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}
