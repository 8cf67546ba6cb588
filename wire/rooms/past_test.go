package rooms

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// moment holds a time, and the contents that a collection had at this time.
type moment struct {
	at   bson.Value // operationTime
	docs string
}

// content returns all documents of test.c in the order of _id, as text, read with the given read concern.
func content(c *client, concern string) string {
	c.w.t.Helper()
	return batch(c.ok(`{find: "c", sort: {_id: 1}, batchSize: 10000` + concern + `}`))
}

// batch returns the documents of a first batch, as text.
func batch(reply bson.Raw) string { return at(reply, "cursor.firstBatch").String() }

// atTime returns a read concern for a time.
func atTime(ts bson.Value) string {
	return `, readConcern: {level: "snapshot", atClusterTime: ` + ts.String() + `}`
}

// historian is a client that changes test.c at random.
type historian struct {
	*client
	rng *rand.Rand
	txn int
}

func (h *historian) document(id int) string {
	fields := []string{fmt.Sprintf("_id: %d", id), fmt.Sprintf("a: %d", h.rng.IntN(10)), fmt.Sprintf("u: %d", h.rng.IntN(1<<40)),
		fmt.Sprintf("tags: [%d, %d]", h.rng.IntN(5), h.rng.IntN(5)), fmt.Sprintf("sub: {x: %d, y: %q}", h.rng.IntN(5), strings.Repeat("y", h.rng.IntN(300)))}
	rest := fields[1:]
	h.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return "{" + strings.Join(fields[:2+h.rng.IntN(4)], ", ") + "}"
}

// write returns a random write command, without its closing brace.
func (h *historian) write() string {
	id := h.rng.IntN(40)
	update := func(u string, more string) string {
		return fmt.Sprintf(`{update: "c", updates: [{q: {_id: %d}, u: %s%s}]`, id, u, more)
	}
	switch h.rng.IntN(14) {
	case 0, 1, 2:
		return fmt.Sprintf(`{update: "c", updates: [{q: {_id: %d}, u: %s, upsert: true}]`, id, h.document(id))
	case 3:
		return update(fmt.Sprintf(`{$inc: {a: %d}}`, 1+h.rng.IntN(3)), "")
	case 4:
		return update(fmt.Sprintf(`{$set: {"sub.x": %d, z: %q}}`, h.rng.IntN(9), strings.Repeat("z", h.rng.IntN(50))), "")
	case 5:
		return update(`{$unset: {sub: 1}, $rename: {a: "b"}}`, "")
	case 6:
		return update(fmt.Sprintf(`{$push: {tags: {$each: [%d], $slice: -3}}}`, h.rng.IntN(9)), "")
	case 7:
		return update(`[{$set: {a: {$add: [{$ifNull: ["$a", 0]}, 1]}, late: "$sub"}}]`, "")
	case 8:
		return fmt.Sprintf(`{update: "c", updates: [{q: {a: %d}, u: {$set: {m: %d}}, multi: true}]`, h.rng.IntN(10), h.rng.IntN(100))
	case 9:
		return fmt.Sprintf(`{delete: "c", deletes: [{q: {_id: %d}, limit: 1}]`, id)
	case 10:
		return fmt.Sprintf(`{delete: "c", deletes: [{q: {a: %d}, limit: 0}]`, h.rng.IntN(10))
	case 11:
		return fmt.Sprintf(`{findAndModify: "c", query: {_id: %d}, remove: true`, id)
	default:
		return fmt.Sprintf(`{findAndModify: "c", query: {_id: %d}, update: {$set: {a: %d, "sub.y": "w"}}, upsert: true`, id, h.rng.IntN(10))
	}
}

// step makes one change.
func (h *historian) step() {
	if h.rng.IntN(8) > 0 {
		h.ok(h.write() + `}`)
		return
	}
	h.txn++
	session := func(more string) string {
		return fmt.Sprintf(`, lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAA==", subType: "04"}}}, txnNumber: {$numberLong: "%d"}, autocommit: false%s}`, h.txn, more)
	}
	h.ok(h.write() + session(", startTransaction: true"))
	for range h.rng.IntN(4) {
		h.ok(h.write() + session(""))
	}
	end := `{commitTransaction: 1, $db: "admin"`
	if h.rng.IntN(4) == 0 {
		end = `{abortTransaction: 1, $db: "admin"`
	}
	h.ok(end + session(""))
}

// TestEveryTimeCanBeRead changes a collection at random, and then reads its state at recorded times of its history, with
// and without indexes, also after a restart.
func TestEveryTimeCanBeRead(t *testing.T) {
	engines := map[string]func(t *testing.T) storage.Store{
		"memory": func(*testing.T) storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) },
		"pebble": func(t *testing.T) storage.Store {
			s, err := pebblekv.Open(t.TempDir(), pebblekv.Options{Clock: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for engine, open := range engines {
		for layout, prepare := range map[string]string{
			"whole":  `{create: "c"}`,
			"images": `{create: "c", changeStreamPreAndPostImages: {enabled: true}}`,
			"hashed": `{shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 4, $db: "admin"}`,
			"ranged": `{shardCollection: "test.c", key: {_id: 1}, $db: "admin"}`,
		} {
			t.Run(engine+"/"+layout, func(t *testing.T) {
				store := open(t)
				t.Cleanup(func() { store.Close() })
				w := newWorld(t, store)
				t.Cleanup(func() { w.Cluster.Close() })
				h := &historian{client: w.dial(), rng: rand.New(rand.NewPCG(3, uint64(len(engine+layout))))}
				h.ok(prepare)
				unique := ", unique: true"
				if strings.Contains(prepare, "shard") {
					unique = ""
				}
				h.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}, {key: {tags: 1, a: -1}, name: "tags"}, {key: {"$**": 1}, name: "all"},
					{key: {u: 1}, name: "u", partialFilterExpression: {u: {$exists: true}}` + unique + `}]}`)
				var moments []moment
				note := func() {
					docs := content(h.client, "")
					moments = append(moments, moment{h.ok(`{ping: 1}`).Get("operationTime"), docs})
				}
				note()
				for i := range 150 {
					h.step()
					if i%4 == 0 {
						note()
						h.ok(`{insert: "noise", documents: [{}]}`)
					}
					switch i {
					case 50:
						h.ok(`{createIndexes: "c", indexes: [{key: {m: 1}, name: "m"}]}`)
					case 70:
						h.ok(`{dropIndexes: "c", index: "all"}`)
					case 90, 110:
						if layout == "ranged" {
							h.run(fmt.Sprintf(`{split: "test.c", middle: {_id: %d}, $db: "admin"}`, i/5))
						}
					}
				}
				check := func(c *client, every int) {
					for i, m := range moments {
						if got := content(c, atTime(m.at)); got != m.docs {
							t.Fatalf("moment %d of %d, %v:\n%s\nwas\n%s", i, len(moments), m.at, got, m.docs)
						}
						if i%every != 0 {
							continue
						}
						m.load(c, "same")
						for _, by := range []string{
							`, filter: {a: {$gte: 0}}, hint: "a"`, `, filter: {tags: {$gte: 0}}, hint: "tags"`,
							`, filter: {u: {$gte: 0}}, hint: "u"`, `, filter: {m: {$gte: 0}}, hint: "m"`, `, filter: {_id: {$in: [1, 5, 9, 30]}}`,
						} {
							got := batch(c.ok(`{find: "c", sort: {_id: 1}, batchSize: 10000` + by + atTime(m.at) + `}`))
							plain, _, _ := strings.Cut(by, ", hint")
							if want := batch(c.ok(`{find: "same", sort: {_id: 1}, batchSize: 10000` + plain + `}`)); got != want {
								t.Fatalf("moment %d%s:\n%s\nwas\n%s", i, by, got, want)
							}
						}
						if n := number(at(c.ok(`{aggregate: "c", pipeline: [{$count: "n"}], cursor: {}`+atTime(m.at)+`}`), "cursor.firstBatch.0.n")); n != int64(strings.Count(m.docs, "{ _id:")) {
							t.Fatalf("moment %d: %d counted", i, n)
						}
					}
				}
				check(h.client, 2)
				w.Cluster.Close()
				check(newWorld(t, store).dial(), 8)
			})
		}
	}
}

// load fills a collection with the documents of a moment.
func (m *moment) load(c *client, coll string) {
	c.ok(`{delete: "` + coll + `", deletes: [{q: {}, limit: 0}]}`)
	if m.docs != "[]" {
		c.ok(`{insert: "` + coll + `", documents: ` + m.docs + `}`)
	}
}

// clocked returns a client of a server whose timestamps follow the clock, so that a test can read at past times.
func clocked(t *testing.T) *client {
	store := memkv.Open(memkv.Options{Clock: time.Now})
	t.Cleanup(func() { store.Close() })
	w := newWorld(t, store)
	t.Cleanup(func() { w.Cluster.Close() })
	return w.dial()
}

// now returns the time of the last write.
func (c *client) now() bson.Value { return c.ok(`{ping: 1}`).Get("operationTime") }

// A read at a past time returns the documents of that time, also if the collection got indexes or options since. If
// the collection has been dropped, renamed, replaced or resharded since, the read fails with error 246.
func TestPastOfNamespaces(t *testing.T) {
	for name, s := range map[string]struct {
		since []string // commands after the time at which c held {_id: 1}
		code  int64    // of a read at that time
	}{
		"nothing":     {nil, 0},
		"dropped":     {[]string{`{drop: "c"}`}, 246},
		"made anew":   {[]string{`{drop: "c"}`, `{insert: "c", documents: [{_id: 2}]}`}, 246},
		"renamed":     {[]string{`{renameCollection: "test.c", to: "test.d", $db: "admin"}`}, 246},
		"replaced":    {[]string{`{insert: "d", documents: [{_id: 5}]}`, `{renameCollection: "test.d", to: "test.c", dropTarget: true, $db: "admin"}`}, 246},
		"resharded":   {[]string{`{shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 2, $db: "admin"}`}, 246},
		"back again":  {[]string{`{renameCollection: "test.c", to: "test.d", $db: "admin"}`, `{renameCollection: "test.d", to: "test.c", $db: "admin"}`}, 0},
		"indexed":     {[]string{`{insert: "c", documents: [{_id: 3, a: 1}]}`, `{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`}, 0},
		"modified":    {[]string{`{collMod: "c", validator: {x: 1}}`}, 0},
		"images":      {[]string{`{update: "c", updates: [{q: {}, u: {$set: {x: 1}}}]}`, `{collMod: "c", changeStreamPreAndPostImages: {enabled: true}}`, `{delete: "c", deletes: [{q: {}, limit: 0}]}`}, 0},
		"other place": {[]string{`{drop: "d"}`, `{insert: "e", documents: [{}]}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := clocked(t)
			c.ok(`{insert: "c", documents: [{_id: 1}]}`)
			then := c.now()
			c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: [1, 2]}}}]}`)
			c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$unset: {a: 1}}}]}`)
			for _, command := range s.since {
				c.run(command)
			}
			r := c.run(`{find: "c"` + atTime(then) + `}`)
			if got := number(r.Get("code")); got != s.code {
				t.Fatalf("%v", r)
			}
			if s.code == 0 && batch(r) != "[ { _id: 1 } ]" {
				t.Errorf("%v", r)
			}
		})
	}
}

// A collection that did not exist yet is empty.
func TestPastBeforeTheCollection(t *testing.T) {
	c := clocked(t)
	c.ok(`{insert: "other", documents: [{}]}`)
	then := c.now()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	c.ok(`{create: "v", viewOn: "other", pipeline: []}`)
	c.ok(`{shardCollection: "test.s", key: {k: 1}, $db: "admin"}`)
	c.ok(`{insert: "s", documents: [{_id: 1, k: 1}]}`)
	c.ok(`{reshardCollection: "test.s", key: {k: "hashed"}, numInitialChunks: 2, $db: "admin"}`)
	for _, ns := range []string{"c", "v", "s"} {
		if r := c.ok(`{find: "` + ns + `"` + atTime(then) + `}`); batch(r) != "[  ]" && batch(r) != "[]" {
			t.Errorf("%s: %v", ns, r)
		}
	}
	early := `, readConcern: {level: "snapshot", atClusterTime: Timestamp(1, 1)}}`
	if got := c.code(`{find: "other"` + early); got != 239 {
		t.Errorf("before everything: %d", got)
	}
}

// An index that is created later may be unable to index the documents of a past time, for example because of two
// parallel arrays. As long as such an index exists, reads at that time fail.
func TestPastUnderANewIndex(t *testing.T) {
	c := clocked(t)
	c.ok(`{insert: "c", documents: [{_id: 1, a: [1], b: [1]}, {_id: 2, u: 1}, {_id: 3, u: 1}]}`)
	then := c.now()
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}, {q: {_id: 3}, u: {$set: {u: 2}}}]}`)
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1, b: 1}, name: "ab"}]}`)
	if got := c.code(`{find: "c"` + atTime(then) + `}`); got != 246 {
		t.Errorf("parallel arrays: %d", got)
	}
	c.ok(`{dropIndexes: "c", index: "ab"}`)
	if r := c.ok(`{find: "c", filter: {a: 1}` + atTime(then) + `}`); batch(r) != "[ { _id: 1, a: [ 1 ], b: [ 1 ] } ]" {
		t.Errorf("%v", r)
	}
}

// A transaction at a past time reads the state of that time. It can write documents that have not changed since; a
// write to a document that has changed is a write conflict.
func TestTransactionInThePast(t *testing.T) {
	c := clocked(t)
	c.ok(`{insert: "c", documents: [{_id: 1, n: 0}, {_id: 2, n: 0}]}`)
	c.ok(`{createIndexes: "c", indexes: [{key: {n: 1}, name: "n", unique: false}]}`)
	c.ok(`{insert: "d", documents: [{_id: 1}]}`)
	then := c.now()
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$inc: {n: 1}}}]}`)
	c.ok(`{insert: "c", documents: [{_id: 3, n: 0}]}`)
	c.ok(`{drop: "d"}`)
	c.ok(`{insert: "young", documents: [{_id: 3, n: 0}]}`)
	txn := 0
	begin := func() (first, rest string) {
		txn++
		rest = fmt.Sprintf(`, lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAA==", subType: "04"}}}, txnNumber: {$numberLong: "%d"}, autocommit: false`, txn)
		return rest + ", startTransaction: true" + atTime(then) + "}", rest + "}"
	}
	first, rest := begin()
	if r := c.ok(`{find: "c", filter: {n: 0}, sort: {_id: 1}` + first); batch(r) != "[ { _id: 1, n: 0 }, { _id: 2, n: 0 } ]" {
		t.Errorf("%v", r)
	}
	c.ok(`{update: "c", updates: [{q: {_id: 2}, u: {$set: {n: 9}}}]` + rest)
	c.ok(`{insert: "c", documents: [{_id: 4, n: 9}]` + rest)
	if r := c.ok(`{find: "c", filter: {n: 9}, sort: {_id: 1}` + rest); batch(r) != "[ { _id: 2, n: 9 }, { _id: 4, n: 9 } ]" {
		t.Errorf("its own writes: %v", r)
	}
	c.ok(`{commitTransaction: 1, $db: "admin"` + rest)
	if got := content(c, ""); got != "[ { _id: 1, n: 1 }, { _id: 2, n: 9 }, { _id: 3, n: 0 }, { _id: 4, n: 9 } ]" {
		t.Errorf("%s", got)
	}
	for command, code := range map[string]int64{
		`{update: "c", updates: [{q: {_id: 1}, u: {$set: {n: 5}}}]`: 112,
		`{insert: "c", documents: [{_id: 3}]`:                       112,
		`{insert: "c", documents: [{_id: 5}]`:                       0,
		`{insert: "made", documents: [{_id: 5}]`:                    0,
		`{find: "d"`:                                                246,
		`{find: "young"`:                                            246,
	} {
		first, rest := begin()
		r := c.run(command + first)
		got := number(r.Get("code"))
		if e := at(r, "writeErrors.0.code"); !e.IsMissing() {
			got = number(e)
		}
		if got != code {
			t.Errorf("%s: %v", command, r)
		}
		if code == 0 {
			c.ok(`{commitTransaction: 1, $db: "admin"` + rest)
		} else {
			c.run(`{abortTransaction: 1, $db: "admin"` + rest)
		}
	}
}
