package rooms

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/wire/command"
)

// TestApplyOpsReplay checks that replaying the oplog of one server at another server gives both the same contents,
// whether the other is empty at first or, as after mongodump --oplog, has documents with some of the changes
// already.
func TestApplyOpsReplay(t *testing.T) {
	source := newWorld(t, nil).dial()
	r := rand.New(rand.NewPCG(1, 2))
	source.ok(`{create: "c"}`)
	source.ok(`{createIndexes: "c", indexes: [{key: {n: 1}, name: "n"}]}`)
	source.ok(`{create: "fr", collation: {locale: "fr", strength: 1}}`)
	for i := range 400 {
		id := r.IntN(20)
		update := func(q, u string) {
			source.run(fmt.Sprintf(`{update: "c", updates: [{q: %s, u: %s, upsert: true}]}`, q, u))
		}
		one := fmt.Sprintf(`{_id: %d}`, id)
		switch r.IntN(11) {
		case 0:
			source.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, a: [1, {x: 1}, [2]], s: {t: {u: 1}}}, {_id: "x%d"}]}`, id, i))
		case 1:
			update(one, fmt.Sprintf(`{$set: {"s.t.u": %d, "a.%d": {x: 2}}}`, i, r.IntN(6)))
		case 2:
			update(one, fmt.Sprintf(`{$set: {"a.1.x": %d}, $unset: {"s.t.u": 1, "a.0": 1}, $inc: {n: 1}}`, i))
		case 3:
			update(one, fmt.Sprintf(`{$push: {a: {$each: [%d, %d], $slice: -4}}}`, i, i))
		case 4:
			update(one, fmt.Sprintf(`{r: %d}`, i))
		case 5:
			source.run(`{delete: "c", deletes: [{q: ` + one + `, limit: 1}]}`)
		case 6:
			update(one, `[{$set: {p: {$add: [{$ifNull: ["$n", 0]}, 1]}, s: {v: "$n"}}}]`)
		case 7:
			source.run(fmt.Sprintf(`{update: "fr", updates: [{q: {_id: "É%d"}, u: {$set: {i: %d}}, upsert: true}, {q: {_id: "e%d"}, u: {$set: {i: %d}}, upsert: true}]}`, id, i, id, i))
		case 8:
			source.run(`{drop: "d"}`)
			source.run(fmt.Sprintf(`{insert: "d", documents: [{_id: %d}]}`, i))
		case 9:
			txn := strings.Replace(txnOne, `"1"`, fmt.Sprintf(`"%d"`, i+1), 1)
			source.run(fmt.Sprintf(`{insert: "e", documents: [{_id: %d}], startTransaction: true, %s}`, i, txn))
			source.run(fmt.Sprintf(`{update: "c", updates: [{q: %s, u: {$set: {txn: %d}}}], %s}`, one, i, txn))
			source.run(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
		case 10:
			source.run(`{update: "c", updates: [{q: {_id: {$lt: 5}}, u: {$max: {m: ` + fmt.Sprint(i) + `}}, multi: true}]}`)
		}
	}
	log := source.oplog(`{}`)
	if len(log) < 400 {
		t.Fatalf("%d entries", len(log))
	}
	target := newWorld(t, nil).dial()
	replay := func(entries []bson.Raw) {
		for _, e := range entries {
			target.ok(`{applyOps: [` + asRestored(e) + `], $db: "admin"}`)
		}
	}
	replay(log)
	compare := func() {
		t.Helper()
		for _, name := range []string{"c", "d", "e", "fr"} {
			find := `{find: "` + name + `", sort: {_id: 1}, batchSize: 1000}`
			if want, got := at(source.ok(find), "cursor.firstBatch").String(), at(target.ok(find), "cursor.firstBatch").String(); got != want || len(got) < 10 {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
			}
			list := `{listIndexes: "` + name + `"}`
			if want, got := at(source.ok(list), "cursor.firstBatch").String(), at(target.ok(list), "cursor.firstBatch").String(); got != want {
				t.Errorf("%s: indexes %s, want %s", name, got, want)
			}
		}
	}
	compare()
	replay(log[len(log)/2:])
	compare()
}

// asRestored returns an oplog entry as text, in the form in which mongorestore sends it: without the UUIDs of
// collections.
func asRestored(e bson.Raw) string {
	b := bson.NewBuilder(nil)
	for name, v := range e.Fields() {
		switch d, isDoc := v.Doc(); {
		case string(name) == "ui":
		case isDoc && string(name) == "o" && !d.Get("applyOps").IsMissing():
			list, _ := d.Get("applyOps").Array()
			b.BeginDoc("o")
			b.BeginArray("applyOps")
			for v := range list.Values() {
				inner, _ := v.Doc()
				b.BeginDoc("")
				for name, v := range inner.Fields() {
					if string(name) != "ui" {
						b.ValueBytes(name, v)
					}
				}
				b.End()
			}
			b.End()
			b.End()
		default:
			b.ValueBytes(name, v)
		}
	}
	return ejson.Canonical(b.Doc())
}

// TestApplyOpsFailure checks that the reply to a failed applyOps contains how many operations were applied.
func TestApplyOpsFailure(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c"}`)
	r := c.run(`{applyOps: [{op: "i", ns: "test.c", o: {_id: 1}}, {op: "i", ns: "test.none", o: {_id: 1}}, {op: "i", ns: "test.c", o: {_id: 2}}], $db: "admin"}`)
	if number(r.Get("applied")) != 2 || r.Get("results").String() != "[true, false]" && r.Get("results").String() != "[ true, false ]" || number(r.Get("code")) != 26 || r.Get("ok").Truthy() {
		t.Errorf("%v", r)
	}
	if n := number(c.ok(`{count: "c"}`).Get("n")); n != 1 {
		t.Errorf("%d documents", n)
	}
	if got := c.w.dialAs(command.TagCosmos).code(`{applyOps: [], $db: "admin"}`); got != 115 {
		t.Errorf("on the Cosmos address: %d", got)
	}
}

// TestApplyOpsHidesPasswords checks that the error for a malformed entry quotes the entry without its passwords.
func TestApplyOpsHidesPasswords(t *testing.T) {
	c := newWorld(t, nil).dial()
	r := c.run(`{applyOps: [{op: "x", ns: "test.$cmd", o: {createUser: "u", pwd: "verysecret"}}], $db: "admin"}`)
	if text := text(r.Get("errmsg")); number(r.Get("code")) != 9 || strings.Contains(text, "verysecret") || !strings.Contains(text, "createUser") {
		t.Errorf("%v", r)
	}
}
