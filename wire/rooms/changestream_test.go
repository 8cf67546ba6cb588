package rooms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/ratelimit"
)

// TestUniqueIsModify checks that a collMod which makes an index unique causes one event, and that the index that is
// built for this purpose causes none.
func TestUniqueIsModify(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "c", documents: [{_id: 1, a: 1}, {_id: 2, a: 2}]}`)
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}]}`)
	c.ok(`{collMod: "c", index: {name: "a_1", prepareUnique: true}}`)
	s := c.watch("test", `"c"`, `{showExpandedEvents: true}`)
	c.ok(`{collMod: "c", index: {name: "a_1", unique: true}}`)
	got := s.read()
	if len(got) != 1 || !strings.Contains(got[0], `operationType: "modify"`) || !strings.Contains(got[0], `{ name: "a_1", unique: true }`) {
		t.Errorf("%q", got)
	}
}

// watched is an open change stream.
type watched struct {
	c      *client
	coll   string // of the cursor's namespace
	db     string
	id     int64
	tokens []bson.Raw // resume tokens of the events that were read
	fails  int        // the code of the error that ended it
	labels string
}

// watch opens a change stream on a database or a collection. coll is the value of {aggregate: …}, arg the value of
// $changeStream, and rest the further stages.
func (c *client) watch(db, coll, arg string, rest ...string) *watched {
	c.w.t.Helper()
	stages := strings.Join(append([]string{"{$changeStream: " + arg + "}"}, rest...), ", ")
	r := c.ok(fmt.Sprintf(`{aggregate: %s, pipeline: [%s], cursor: {batchSize: 0}, $db: %q}`, coll, stages, db))
	s := &watched{c: c, db: db, id: number(at(r, "cursor.id"))}
	ns, _ := at(r, "cursor.ns").Str()
	s.coll = strings.TrimPrefix(ns, db+".")
	if _, ok := at(r, "cursor.postBatchResumeToken").Doc(); !ok {
		c.w.t.Errorf("no token when it was opened: %v", r)
	}
	return s
}

// read returns the events that have arrived, as text, without the fields that differ between runs.
func (s *watched) read() (events []string) {
	s.c.w.t.Helper()
	if err := s.c.w.Cluster.Sync(s.c.w.t.Context()); err != nil {
		s.c.w.t.Fatal(err)
	}
	for s.id != 0 {
		r := s.c.run(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: %q, $db: %q, maxTimeMS: 1}`, s.id, s.coll, s.db))
		if !r.Get("ok").Truthy() {
			s.fails = int(number(r.Get("code")))
			s.labels = r.Get("errorLabels").String()
			s.id = 0
			break
		}
		batch, _ := at(r, "cursor.nextBatch").Array()
		s.id = number(at(r, "cursor.id"))
		if batch.IsEmpty() {
			break
		}
		for it := batch.Iter(); it.Next(); {
			e, _ := it.Value.Doc()
			token, _ := e.Get("_id").Doc()
			s.tokens = append(s.tokens, token.Clone())
			events = append(events, plainEvent(e))
		}
	}
	return events
}

// plainEvent returns an event as text, without its token and its times, and with UUIDs replaced, so that it is the
// same in every run. If one of the fields _id, clusterTime and wallTime is missing, the text contains how many of
// them the event has.
func plainEvent(e bson.Raw) string {
	b := bson.NewBuilder(nil)
	had := 0
	for it := e.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "_id", "clusterTime", "wallTime":
			had++
		case "collectionUUID":
			b.String(name, "U")
		case "operationDescription", "stateBeforeChange":
			d, _ := it.Value.Doc()
			b.Raw(name, withoutUUIDs(d))
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	if had != 3 {
		b.Int32("volatile fields", int32(had))
	}
	return b.Doc().String()
}

func withoutUUIDs(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		if sub, ok := it.Value.Doc(); ok && it.Value.Type == bson.TypeDocument {
			b.Raw(string(it.Name), withoutUUIDs(sub))
		} else if _, _, ok := it.Value.Binary(); ok {
			b.String(string(it.Name), "U")
		} else {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}

// expect compares the events that have arrived in the stream with the expected ones, and fails the test if they
// differ.
func (s *watched) expect(want ...string) {
	s.c.w.t.Helper()
	got := s.read()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			s.c.w.t.Errorf("event %d:\n got %s\nwant %s", i, g, w)
		}
	}
}

// TestChangeEvents checks the events of inserts, updates, replacements and deletes, in streams on a collection, on
// its database and on the whole deployment. Manual: reference/change-events and the pages below it.
func TestChangeEvents(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c", changeStreamPreAndPostImages: {enabled: true}}`)
	one := c.watch("test", `"c"`, "{}")
	expanded := c.watch("test", `1`, "{showExpandedEvents: true}")
	all := c.watch("admin", `1`, "{allChangesForCluster: true}")
	for _, u := range []string{
		`[{$set: {a: {$slice: ["$a", 2]}}}]`, `{$pop: {a: 1}}`, `{$set: {"n.0.z": 2, "a.0": 7}}`, `{$unset: {n: 1}}`,
		`[{$replaceWith: {$setField: {field: "x.y", input: "$$ROOT", value: 5}}}]`, `{a: 1}`,
	} {
		c.ok(`{update: "c", updates: [{q: {_id: 1}, upsert: true, u: {$setOnInsert: {a: [1, 2, 3, 4], n: {"0": {z: 1}}}}}]}`)
		c.ok(`{update: "c", updates: [{q: {_id: 1}, u: ` + u + `}]}`)
	}
	c.ok(`{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`)
	const ns = `ns: { db: "test", coll: "c" }, documentKey: { _id: 1 }`
	documents := []string{
		`{ operationType: "insert", fullDocument: { _id: 1, a: [ 1, 2, 3, 4 ], n: { 0: { z: 1 } } }, ` + ns + ` }`,
		`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: {}, removedFields: [], truncatedArrays: [ { field: "a", newSize: 2 } ] } }`,
		`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: { a: [ 1 ] }, removedFields: [], truncatedArrays: [] } }`,
		`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: { a.0: 7, n.0.z: 2 }, removedFields: [], truncatedArrays: [] } }`,
		`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: {}, removedFields: [ "n" ], truncatedArrays: [] } }`,
		`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: { x.y: 5 }, removedFields: [], truncatedArrays: [] } }`,
		`{ operationType: "replace", fullDocument: { _id: 1, a: 1 }, ` + ns + ` }`,
		`{ operationType: "delete", ` + ns + ` }`,
	}
	one.expect(documents...)
	all.expect(documents...)
	paths := map[int]string{3: `n.0.z: [ "n", "0", "z" ]`, 5: `x.y: [ "x.y" ]`}
	for i, e := range documents {
		e = strings.Replace(e, `, `, `, collectionUUID: "U", `, 1)
		if strings.Contains(e, "updateDescription") {
			disambiguated := "{}"
			if p := paths[i]; p != "" {
				disambiguated = "{ " + p + " }"
			}
			e = strings.TrimSuffix(e, " } }") + ", disambiguatedPaths: " + disambiguated + " } }"
		}
		documents[i] = e
	}
	expanded.expect(documents...)
}

// TestChangeCommands checks the events of commands that create, change or drop namespaces and indexes, and which
// streams they end.
func TestChangeCommands(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c"}`)
	one := c.watch("test", `"c"`, "{}")
	target := c.watch("test", `"d"`, "{}")
	plain := c.watch("test", `1`, "{}")
	expanded := c.watch("test", `1`, "{showExpandedEvents: true}")
	all := c.watch("admin", `1`, "{allChangesForCluster: true}")
	other := c.watch("other", `1`, "{}")
	c.ok(`{create: "d"}`)
	c.ok(`{createIndexes: "d", indexes: [{key: {k: 1}, name: "k_1", expireAfterSeconds: 100}]}`)
	c.ok(`{collMod: "d", index: {name: "k_1", expireAfterSeconds: 200}}`)
	c.ok(`{collMod: "d", validationLevel: "moderate"}`)
	c.ok(`{dropIndexes: "d", index: "k_1"}`)
	c.ok(`{renameCollection: "test.c", to: "test.d", dropTarget: true, $db: "admin"}`)
	c.ok(`{shardCollection: "test.d", key: {k: "hashed"}, numInitialChunks: 2, $db: "admin"}`)
	c.ok(`{insert: "d", documents: [{_id: 1, k: 5, l: 6}]}`)
	c.ok(`{createIndexes: "d", indexes: [{key: {k: "hashed", l: 1}, name: "kl"}]}`)
	c.ok(`{refineCollectionShardKey: "test.d", key: {k: "hashed", l: 1}, $db: "admin"}`)
	c.ok(`{insert: "d", documents: [{_id: 2, k: 5, l: 6}]}`)
	c.ok(`{reshardCollection: "test.d", key: {l: "hashed"}, numInitialChunks: 3, $db: "admin"}`)
	c.ok(`{insert: "d", documents: [{_id: 3, k: 5, l: 6}]}`)
	c.ok(`{create: "v", viewOn: "d", pipeline: []}`)
	c.ok(`{drop: "v"}`)
	c.ok(`{dropDatabase: 1}`)
	const (
		d      = `collectionUUID: "U", ns: { db: "test", coll: "d" }`
		rename = `{ operationType: "rename", ns: { db: "test", coll: "c" }, to: { db: "test", coll: "d" } }`
	)
	insert := func(id int, key string) string {
		return fmt.Sprintf(`{ operationType: "insert", fullDocument: { _id: %d, k: 5, l: 6 }, ns: { db: "test", coll: "d" }, documentKey: { %s, _id: %[1]d } }`, id, key)
	}
	documents := []string{insert(1, "k: 5"), insert(2, "k: 5, l: 6"), insert(3, "l: 6")}
	end := []string{`{ operationType: "drop", ns: { db: "test", coll: "d" } }`, `{ operationType: "dropDatabase", ns: { db: "test" } }`}
	const invalidate = `{ operationType: "invalidate" }`
	one.expect(rename, invalidate)
	target.expect(rename, invalidate)
	shown := slices.Concat([]string{rename}, documents, end)
	all.expect(shown...)
	plain.expect(append(shown, invalidate)...)
	other.expect()
	for i, e := range documents {
		documents[i] = strings.Replace(e, `, `, `, collectionUUID: "U", `, 1)
	}
	expanded.expect(
		`{ operationType: "create", `+d+`, operationDescription: { idIndex: { v: 2, key: { _id: 1 }, name: "_id_" } } }`,
		`{ operationType: "createIndexes", `+d+`, operationDescription: { indexes: [ { v: 2, key: { k: 1 }, name: "k_1", expireAfterSeconds: 100 } ] } }`,
		`{ operationType: "modify", `+d+`, operationDescription: { index: { name: "k_1", expireAfterSeconds: 200 } }, `+
			`stateBeforeChange: { collectionOptions: { uuid: "U" }, indexOptions: { expireAfterSeconds: 100 } } }`,
		`{ operationType: "modify", `+d+`, operationDescription: { validationLevel: "moderate" }, stateBeforeChange: { collectionOptions: { uuid: "U" } } }`,
		`{ operationType: "dropIndexes", `+d+`, operationDescription: { indexes: [ { v: 2, key: { k: 1 }, name: "k_1", expireAfterSeconds: 200 } ] } }`,
		`{ operationType: "rename", collectionUUID: "U", ns: { db: "test", coll: "c" }, to: { db: "test", coll: "d" }, operationDescription: { to: { db: "test", coll: "d" }, dropTarget: "U" } }`,
		`{ operationType: "shardCollection", `+d+`, operationDescription: { shardKey: { k: "hashed" }, unique: false, numInitialChunks: 2, presplitHashedZones: false } }`,
		documents[0],
		`{ operationType: "createIndexes", `+d+`, operationDescription: { indexes: [ { v: 2, key: { k: "hashed", l: 1 }, name: "kl" } ] } }`,
		`{ operationType: "refineCollectionShardKey", `+d+`, operationDescription: { shardKey: { k: "hashed", l: 1 }, oldShardKey: { k: "hashed" } } }`,
		documents[1],
		`{ operationType: "reshardCollection", `+d+`, operationDescription: { reshardUUID: "U", shardKey: { l: "hashed" }, oldShardKey: { k: "hashed", l: 1 }, unique: false, numInitialChunks: 3 } }`,
		documents[2],
		`{ operationType: "create", ns: { db: "test", coll: "v" }, operationDescription: { viewOn: "d", pipeline: [] } }`,
		`{ operationType: "drop", ns: { db: "test", coll: "v" } }`,
		`{ operationType: "drop", `+d+` }`,
		`{ operationType: "dropDatabase", ns: { db: "test" } }`,
		invalidate,
	)
	for _, s := range []*watched{one, target, plain, expanded} {
		if s.id != 0 || s.fails != 0 {
			t.Errorf("cursor %d of %s is open behind its end, or failed with %d", s.id, s.coll, s.fails)
		}
	}
	if all.id == 0 || other.id == 0 {
		t.Error("a stream ended that has nothing to do with it")
	}
	// A stream that an invalidate event has ended can be continued after its end, but not by resumeAfter.
	last := one.tokens[len(one.tokens)-1].String()
	if got := c.code(`{aggregate: "c", pipeline: [{$changeStream: {resumeAfter: ` + last + `}}], cursor: {}}`); got != 260 {
		t.Errorf("resumed after invalidate: %d", got)
	}
	s := c.watch("test", `"c"`, `{startAfter: `+last+`}`)
	c.ok(`{insert: "c", documents: [{_id: 9}]}`)
	s.expect(`{ operationType: "insert", fullDocument: { _id: 9 }, ns: { db: "test", coll: "c" }, documentKey: { _id: 9 } }`)
}

// TestChangeImages checks the documents before and after an update that a change stream returns for each value of
// fullDocument and fullDocumentBeforeChange: with stored images, without images, and after images have expired.
// Manual: changeStreams#change-streams-with-document-pre--and-post-images.
func TestChangeImages(t *testing.T) {
	late := time.Duration(0)
	c := newWorldAt(t, nil, func() time.Time { return time.Now().Add(late) }, &ratelimit.Budgets{}).dial()
	c.ok(`{create: "kept", changeStreamPreAndPostImages: {enabled: true}}`)
	c.ok(`{create: "bare"}`)
	tokens := map[string]string{}
	for _, coll := range []string{"kept", "bare"} {
		s := c.watch("test", `"`+coll+`"`, "{}")
		c.ok(`{insert: "` + coll + `", documents: [{_id: 1, a: 1}]}`)
		c.ok(`{update: "` + coll + `", updates: [{q: {_id: 1}, u: {$set: {a: 2}}}]}`)
		c.ok(`{update: "` + coll + `", updates: [{q: {_id: 1}, u: {$set: {a: 3}}}]}`)
		s.read()
		tokens[coll] = s.tokens[0].String()
	}
	// first returns the images in the event of the first update as "after/before", or the code of the error.
	first := func(coll, options string) string {
		s := c.watch("test", `"`+coll+`"`, `{resumeAfter: `+tokens[coll]+`, `+options+`}`)
		if err := c.w.Cluster.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := c.run(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: %q, batchSize: 1}`, s.id, coll))
		if !r.Get("ok").Truthy() {
			return fmt.Sprint(number(r.Get("code")))
		}
		show := func(path string) string {
			v := at(r, "cursor.nextBatch.0."+path)
			if d, ok := v.Doc(); ok {
				return d.Get("a").String()
			}
			return v.Type.String()
		}
		return show("fullDocument") + "/" + show("fullDocumentBeforeChange")
	}
	for _, x := range []struct{ options, kept, bare, late string }{
		{`fullDocument: "default"`, "missing/missing", "missing/missing", "missing/missing"},
		{`fullDocument: "updateLookup"`, "3/missing", "3/missing", "3/missing"},
		{`fullDocument: "whenAvailable"`, "2/missing", "null/missing", "null/missing"},
		{`fullDocument: "required"`, "2/missing", "47", "47"},
		{`fullDocumentBeforeChange: "off"`, "missing/missing", "missing/missing", "missing/missing"},
		{`fullDocumentBeforeChange: "whenAvailable"`, "missing/1", "missing/null", "missing/null"},
		{`fullDocumentBeforeChange: "required"`, "missing/1", "47", "47"},
	} {
		late = 0
		if got := first("kept", x.options); got != x.kept {
			t.Errorf("%s with images: %s, want %s", x.options, got, x.kept)
		}
		if got := first("bare", x.options); got != x.bare {
			t.Errorf("%s without images: %s, want %s", x.options, got, x.bare)
		}
		c.ok(`{setClusterParameter: {changeStreamOptions: {preAndPostImages: {expireAfterSeconds: 100}}}, $db: "admin"}`)
		if got := first("kept", x.options); got != x.kept {
			t.Errorf("%s with young images: %s, want %s", x.options, got, x.kept)
		}
		late = 110 * time.Second
		if got := first("kept", x.options); got != x.late {
			t.Errorf("%s with expired images: %s, want %s", x.options, got, x.late)
		}
		c.ok(`{setClusterParameter: {changeStreamOptions: {preAndPostImages: {expireAfterSeconds: "off"}}}, $db: "admin"}`)
		if got := first("kept", x.options); got != x.kept {
			t.Errorf("%s with images kept for ever: %s, want %s", x.options, got, x.kept)
		}
	}
}

// TestChangeResume checks that a stream can be resumed after every event and from the time of every event, although
// the collection was split, resharded and merged between the events, and that it then returns exactly the remaining
// events.
func TestChangeResume(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 2, $db: "admin"}`)
	s := c.watch("test", `"c"`, "{}")
	insert := func(id int) {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: %[1]d}, {_id: %d, k: 0}]}`, id, id+1))
	}
	insert(0)
	c.ok(`{split: "test.c", find: {_id: 0}, $db: "admin"}`)
	insert(2)
	c.ok(`{reshardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	insert(4)
	c.ok(`{customAction: "MergePartitions", collection: "c"}`)
	insert(6)
	want := s.read()
	if len(want) != 8 {
		t.Fatalf("%d events of 8: %v", len(want), want)
	}
	from, before := 0, "" // index of the first event of a time
	for i, token := range s.tokens {
		c.watch("test", `"c"`, `{resumeAfter: `+token.String()+`}`).expect(want[i+1:]...)
		c.watch("test", `"c"`, `{startAfter: `+token.String()+`}`).expect(want[i+1:]...)
		log := c.ok(`{find: "oplog.rs", filter: {ns: "test.c", op: "i"}, $db: "local"}`)
		sec, inc, ok := at(log, fmt.Sprintf("cursor.firstBatch.%d.ts", i)).Timestamp()
		if !ok {
			t.Fatalf("the log has no insert %d: %v", i, log)
		}
		start := fmt.Sprintf(`{startAtOperationTime: {$timestamp: {t: %d, i: %d}}}`, sec, inc)
		if start != before {
			from, before = i, start
		}
		c.watch("test", `"c"`, start).expect(want[from:]...)
	}
	c.watch("test", `"c"`, `{startAtOperationTime: {$timestamp: {t: 0, i: 0}}}`).expect(want...)
}

// TestChangeHistoryLost checks that a stream fails with an error on which drivers do not resume, if the change log
// no longer has the stream's position when it is opened or read. Spec: change-streams (resumable errors).
func TestChangeHistoryLost(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c"}`)
	s, behind := c.watch("test", `"c"`, "{}"), c.watch("test", `"c"`, "{}")
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	s.read()
	c.ok(`{insert: "c", documents: [{_id: 2}]}`)
	store := w.Jobs.Store
	for _, stream := range [][]byte{changelog.Stream, changelog.Commands} {
		if err := store.TruncateLog(t.Context(), stream, store.Latest()); err != nil {
			t.Fatal(err)
		}
	}
	const label = `[ "NonResumableChangeStreamError" ]`
	if behind.read(); behind.fails != 286 || behind.labels != label {
		t.Errorf("read: %d %s", behind.fails, behind.labels)
	}
	r := c.run(`{aggregate: "c", pipeline: [{$changeStream: {resumeAfter: ` + s.tokens[0].String() + `}}], cursor: {}}`)
	if got := number(r.Get("code")); got != 286 || r.Get("errorLabels").String() != label {
		t.Errorf("resumed: %v", r)
	}
	c.ok(`{insert: "c", documents: [{_id: 3}]}`)
	fresh := c.watch("test", `"c"`, "{}")
	c.ok(`{insert: "c", documents: [{_id: 4}]}`)
	fresh.expect(`{ operationType: "insert", fullDocument: { _id: 4 }, ns: { db: "test", coll: "c" }, documentKey: { _id: 4 } }`)
}

// TestChangeToken checks that a pipeline which removes or changes the token of an event ends the stream for good,
// and that so does a token that the stream never reaches.
func TestChangeToken(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c"}`)
	var streams []*watched
	for _, stage := range []string{`{$project: {_id: 0}}`, `{$unset: "_id"}`, `{$set: {"_id.x": 1}}`, `{$set: {_id: "$fullDocument"}}`, `{$replaceWith: "$fullDocument"}`, `{$replaceRoot: {newRoot: {a: 1}}}`} {
		streams = append(streams, c.watch("test", `"c"`, "{}", stage))
	}
	foreign := c.watch("test", `"other"`, "{}")
	c.ok(`{insert: "other", documents: [{_id: 1}]}`)
	foreign.read()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	streams = append(streams, c.watch("test", `"c"`, `{resumeAfter: `+foreign.tokens[0].String()+`}`))
	for i, s := range streams {
		if got := s.read(); len(got) != 0 || s.fails != 280 || s.labels != `[ "NonResumableChangeStreamError" ]` {
			t.Errorf("stream %d: %v, error %d %s", i, got, s.fails, s.labels)
		}
	}
	// Stages that keep the token are allowed.
	s := c.watch("test", `"c"`, "{startAtOperationTime: {$timestamp: {t: 0, i: 1}}}", `{$match: {operationType: "insert"}}`, `{$project: {"fullDocument._id": 1}}`, `{$set: {x: 1}}`, `{$redact: "$$KEEP"}`)
	if got := s.read(); len(got) != 1 || !strings.HasPrefix(got[0], `{ fullDocument: { _id: 1 }, x: 1`) {
		t.Error(got)
	}
}

// TestChangeFields checks which fields an event has and in which order, also for the events of commands in a
// transaction. Manual: reference/change-events/create#example.
func TestChangeFields(t *testing.T) {
	c := newWorld(t, nil).dial()
	begun := c.w.Cluster.Now().UnixMilli()
	c.ok(`{create: "ts", timeseries: {timeField: "t"}}`)
	c.ok(`{create: "c"}`)
	if got := c.code(`{aggregate: "ts", pipeline: [{$changeStream: {}}], cursor: {}}`); got != 166 {
		t.Errorf("a stream on a time-series collection: %d", got)
	}
	plain, expanded := c.watch("test", `1`, "{}"), c.watch("test", `1`, "{showExpandedEvents: true}")
	const txn = `lsid: {id: {$uuid: "00112233-4455-6677-8899-aabbccddeeff"}}, txnNumber: {$numberLong: "1"}, autocommit: false`
	c.ok(`{insert: "made", documents: [{_id: 1}], startTransaction: true, ` + txn + `}`)
	c.ok(`{createIndexes: "empty", indexes: [{key: {a: 1}, name: "a"}], ` + txn + `}`)
	c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
	c.ok(`{insert: "ts", documents: [{t: {$date: "2026-01-01T00:00:00Z"}}]}`)
	c.ok(`{drop: "ts"}`)
	c.ok(`{create: "clustered", clusteredIndex: {key: {_id: 1}, unique: true}}`)
	c.ok(`{createIndexes: "made", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}]}`)
	c.ok(`{collMod: "made", index: {name: "a", hidden: true}}`)
	c.ok(`{create: "v", viewOn: "made", pipeline: []}`)
	c.ok(`{collMod: "v", viewOn: "c", pipeline: []}`)
	c.ok(`{createIndexes: "new", indexes: [{key: {a: 1}, name: "a"}]}`)
	names := func(s *watched) (out []string) {
		if err := c.w.Cluster.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for {
			r := c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: %q, $db: %q, maxTimeMS: 1}`, s.id, s.coll, s.db))
			batch, _ := at(r, "cursor.nextBatch").Array()
			if batch.IsEmpty() {
				return out
			}
			for v := range batch.Values() {
				e, _ := v.Doc()
				var line []string
				for it := e.Iter(); it.Next(); {
					line = append(line, string(it.Name))
				}
				if wall, _ := e.Get("wallTime").DateTime(); wall < begun { // a time in full seconds would be earlier
					t.Errorf("the wall time %d lies before %d", wall, begun)
				}
				kind, _ := e.Get("operationType").Str()
				coll, _ := at(e, "ns.coll").Str()
				text := kind + " " + coll + ": " + strings.Join(line[2:], " ")
				for _, name := range []string{"operationDescription", "stateBeforeChange"} {
					if d, ok := e.Get(name).Doc(); ok {
						text += " " + withoutUUIDs(d).String()
					}
				}
				out = append(out, text)
			}
		}
	}
	expect := func(s *watched, want ...string) {
		t.Helper()
		if got := names(s); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	expect(plain, "insert made: clusterTime wallTime txnNumber lsid fullDocument ns documentKey")
	const (
		head   = "clusterTime collectionUUID wallTime "
		id     = `{ idIndex: { v: 2, key: { _id: 1 }, name: "_id_" } }`
		index  = `{ v: 2, key: { a: 1 }, name: "a" }`
		fields = "ns operationDescription "
	)
	expect(expanded,
		"create made: "+head+"txnNumber lsid "+fields+id,
		"insert made: "+head+"txnNumber lsid fullDocument ns documentKey",
		"create empty: "+head+"txnNumber lsid "+fields+id,
		"createIndexes empty: "+head+"txnNumber lsid "+fields+"{ indexes: [ "+index+" ] }",
		"drop ts: clusterTime wallTime ns",
		"create clustered: "+head+fields+`{ clusteredIndex: { v: 2, key: { _id: 1 }, name: "_id_", unique: true } }`,
		"createIndexes made: "+head+fields+"{ indexes: [ "+index+`, { v: 2, key: { b: 1 }, name: "b" } ] }`,
		"modify made: "+head+fields+`stateBeforeChange { index: { name: "a", hidden: true } } { collectionOptions: { uuid: "U" }, indexOptions: { hidden: false } }`,
		"create v: clusterTime wallTime "+fields+`{ viewOn: "made", pipeline: [] }`,
		"modify v: clusterTime wallTime "+fields+`stateBeforeChange { viewOn: "c", pipeline: [] } { collectionOptions: { viewOn: "made", pipeline: [] } }`,
		"create new: "+head+fields+id,
		"createIndexes new: "+head+fields+"{ indexes: [ "+index+" ] }",
	)
}

// TestChangeFragments checks the manual's example of $changeStreamSplitLargeEvent: a document just below 16 MiB is
// replaced, and both of its images are shown. Small fields come first, and each fragment has as many fields as fit.
// Manual: reference/operator/aggregation/changeStreamSplitLargeEvent#examples.
func TestChangeFragments(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c", changeStreamPreAndPostImages: {enabled: true}}`)
	const size = 16<<20 - 1024
	c.ok(`{insert: "c", documents: [{_id: 0, largeField: "` + strings.Repeat("a", size) + `"}]}`)
	s := c.watch("test", `"c"`, `{fullDocument: "required", fullDocumentBeforeChange: "required"}`, `{$changeStreamSplitLargeEvent: {}}`)
	c.ok(`{update: "c", updates: [{q: {_id: 0}, u: {$set: {largeField: "` + strings.Repeat("b", size) + `"}}}]}`)
	if err := c.w.Cluster.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 3 {
		r := c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 1000}`, s.id))
		batch, _ := at(r, "cursor.nextBatch").Array()
		if batch.IsEmpty() {
			break
		}
		for v := range batch.Values() {
			e, _ := v.Doc()
			var names []string
			for it := e.Iter(); it.Next(); {
				names = append(names, string(it.Name))
			}
			got = append(got, strings.Join(names, " ")+" "+e.Get("splitEvent").String())
		}
	}
	want := []string{
		"_id splitEvent wallTime clusterTime operationType documentKey ns fullDocument { fragment: 1, of: 3 }",
		"_id splitEvent fullDocumentBeforeChange { fragment: 2, of: 3 }",
		"_id splitEvent updateDescription { fragment: 3, of: 3 }",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// If the last event of a batch is the newest entry of the change log, the token of the batch, which clients store, is
// the token of that event. If more was written after that event, the token is another one: the position after these
// writes.
func TestBatchToken(t *testing.T) {
	c := newWorld(t, nil).dial()
	w := c.watch("test", `"c"`, `{}`)
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	batch := func() (r bson.Raw, event, token string) {
		if err := c.w.Cluster.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, _ = c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, w.id)).Get("cursor").Doc()
		return r, at(r, "nextBatch.0._id").String(), r.Get("postBatchResumeToken").String()
	}
	if r, event, token := batch(); event != token {
		t.Errorf("the newest event: %v", r)
	}
	c.ok(`{insert: "c", documents: [{_id: 2}]}`)
	c.ok(`{insert: "other", documents: [{_id: 1}]}`)
	if r, event, token := batch(); event == token || event == "missing" {
		t.Errorf("an event before others: %v", r)
	}
}
