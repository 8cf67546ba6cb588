package update_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/update"
)

// document1K is a document of about one kibibyte.
func document1K(t testing.TB) bson.Raw {
	var s strings.Builder
	s.WriteString(`{_id: 1, status: "new", n: 7, nested: {a: {b: 1}}, list: [1, 2, 3]`)
	for i := range 20 {
		fmt.Fprintf(&s, `, field%d: "some text of a usual length %d"`, i, i)
	}
	return bsontest.Doc(t, s.String()+"}")
}

func program(t testing.TB, env *mql.Env, u string) *update.Program {
	v := bsontest.Value(t, u)
	p, err := update.Parse(env, v, nil, update.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAllocsApply(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	env, doc, s := newEnv(), document1K(t), &expr.Scratch{}
	for _, u := range []string{
		`{$set: {status: "done"}}`, `{$set: {"nested.a.b": 2}}`, `{$inc: {n: 1}}`, `{$unset: {field7: 1}}`,
		`{$set: {"list.1": 9}}`, `{$push: {list: 4}}`, `{$pull: {list: 2}}`, `{$set: {new: {a: 1}}}`, `{$min: {n: 1}, $max: {"nested.a.c": 5}}`,
	} {
		p := program(t, env, u)
		var b bson.Builder
		buf := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(100, func() {
			s.Reset()
			b.Reset(buf)
			if _, err := p.Apply(env, &b, doc, update.Input{}, s); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", u, n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	env, doc, s := newEnv(), document1K(b), &expr.Scratch{}
	for _, c := range []struct{ name, u string }{
		{"set-1KiB", `{$set: {status: "done"}}`},
		{"set-last-1KiB", `{$set: {field19: "x"}}`},
		{"set-new-1KiB", `{$set: {zzz: "x"}}`},
		{"inc-1KiB", `{$inc: {n: 1}}`},
		{"push-1KiB", `{$push: {list: 4}}`},
		{"replace-1KiB", `{status: "done"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := program(b, env, c.u)
			var dst bson.Builder
			buf := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				dst.Reset(buf)
				if _, err := p.Apply(env, &dst, doc, update.Input{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLimits: depth and size of the result are limited.
func TestLimits(t *testing.T) {
	env := newEnv()
	code := func(u, d string) mongoerr.Code {
		_, _, err := apply(env, program(t, env, u), nil, bsontest.Doc(t, d))
		return mongoerr.CodeOf(err)
	}
	deep := strings.Repeat(`{a: `, 150) + "1" + strings.Repeat("}", 150)
	if c := code(`{$set: {"x.y": `+deep+`}}`, `{_id: 1}`); c != 0 {
		t.Errorf("depth 152: %v", c)
	}
	path := strings.Repeat("b.", 60) + "c"
	if c := code(`{$set: {"`+path+`": `+deep+`}}`, `{_id: 1}`); c != mongoerr.Overflow {
		t.Errorf("depth 211: %v", c)
	}
	if c := code(`{$set: {"`+strings.Repeat("b.", 199)+`c": 1}}`, `{_id: 1}`); c != 0 {
		t.Errorf("path of 200: %v", c)
	}
	half := strings.Repeat("x", 9<<20)
	if c := code(`{$set: {b: "`+half+`"}}`, `{_id: 1, a: "`+half+`"}`); c != 17419 {
		t.Errorf("18 MiB: %v", c)
	}
	filter, err := match.Parse(env, bsontest.Doc(t, `{_id: 1, a: "`+half+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[release.Release]mongoerr.Code{release.V8_0: 17419, release.V8_3: mongoerr.BSONObjectTooLarge} {
		env.Release = r
		_, err := program(t, env, `{$set: {b: "`+half+`"}}`).Upsert(env, filter, &expr.Scratch{}, nil)
		if c := mongoerr.CodeOf(err); c != want {
			t.Errorf("an upsert of 18 MiB at %s: %v, want %v", r, c, want)
		}
	}
}

// TestManyPaths: parsing and applying huge updates is not quadratic.
func TestManyPaths(t *testing.T) {
	env := newEnv()
	var u strings.Builder
	u.WriteString(`{$set: {`)
	for i := range 20000 {
		fmt.Fprintf(&u, "f%d: 1, ", i)
	}
	p := program(t, env, u.String()+"}}")
	doc, _, err := apply(env, p, nil, bsontest.Doc(t, `{_id: 1, f7: 2, z: 3}`))
	if err != nil || doc.Len() != 20002 {
		t.Fatal(doc.Len(), err)
	}
	if _, modified, err := apply(env, p, nil, doc); modified || err != nil {
		t.Fatal(modified, err)
	}
}

// TestBigSets: $addToSet and $pullAll of 50,000 values have the right results; in quadratic time they would take long.
func TestBigSets(t *testing.T) {
	env := newEnv()
	var list strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&list, "%d, ", i)
	}
	doc := bsontest.Doc(t, `{_id: 1, a: [0, 1.0, "x"]}`)
	doc, _, err := apply(env, program(t, env, `{$addToSet: {a: {$each: [`+list.String()+`]}}}`), nil, doc)
	if err != nil {
		t.Fatal(err)
	}
	arr, _ := doc.Get("a").Array()
	if arr.Len() != 50001 {
		t.Fatal(arr.Len())
	}
	doc, _, err = apply(env, program(t, env, `{$pullAll: {a: [`+list.String()+`]}}`), nil, doc)
	if err != nil || doc.String() != `{ _id: 1, a: [ "x" ] }` {
		t.Fatal(err, doc)
	}
}

// TestPaths checks the paths that an update may change, as Program.Paths returns them for the maintenance of
// indexes.
func TestPaths(t *testing.T) {
	env := newEnv()
	p := program(t, env, `{$set: {"a.b": 1, "c.$[].d": 2}, $rename: {e: "f.g"}}`)
	var got []string
	whole := p.Paths(func(q path.Path) { got = append(got, q.String()) })
	if whole || strings.Join(got, " ") != "a.b c e f.g" {
		t.Error(whole, got)
	}
	if !program(t, env, `{a: 1}`).Paths(func(path.Path) {}) {
		t.Error("a replacement touches everything")
	}
}
