package exec_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/plan"
)

// all returns the documents of the collection.
func (w *world) all() (docs []bson.Raw) {
	q := w.query(w.natural(plan.Find{}))
	for _, d := range w.run(q, w.candidates(q)[0]) {
		docs = append(docs, bson.Raw(d))
	}
	return docs
}

// TestTextPlans compares the documents and text scores of $text through a text index with $text evaluated on
// each document.
func TestTextPlans(t *testing.T) {
	for _, shards := range []int{1, 3} {
		key := ""
		if shards > 1 {
			key = `{k: "hashed"}`
		}
		rng := rand.New(rand.NewPCG(1, 2))
		words := []string{"coffee", "shop", "the", "cakes", "cake", "Café", "database", "running", "run"}
		w := newWorld(t, key, shards, `{key: {s: "text", "d.t": "text"}, name: "txt", weights: {s: 3}}`, `{key: {a: 1}, name: "a_1"}`)
		some := func() string {
			var list []string
			for range 1 + rng.IntN(4) {
				list = append(list, words[rng.IntN(len(words))])
			}
			return strings.Join(list, " ")
		}
		for i := range 80 {
			w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %d, a: %d, k: %d, s: %q, d: [{t: %q}, {t: 5}]}", i, i%5, i, some(), some())))
		}
		docs := w.all()
		for i := range 200 {
			search := some()
			switch rng.IntN(4) {
			case 0:
				search += ` "` + words[rng.IntN(len(words))] + `"`
			case 1:
				search += " -" + words[rng.IntN(len(words))]
			}
			filter := fmt.Sprintf("{$text: {$search: %q, $caseSensitive: %v}}", search, i%3 == 0)
			if i%4 == 0 {
				filter = strings.Replace(filter, "{", "{a: {$lt: 3}, ", 1)
			} else if i%4 == 1 {
				filter = "{$or: [" + filter + ", {a: 1}]}"
			}
			f := plan.Find{Filter: bsontest.Doc(t, filter)}
			q := w.query(f)
			var want []string
			var scratch expr.Scratch
			for _, d := range docs {
				if ok, err := q.Match.Matches(w.env, d, &scratch); err != nil {
					t.Fatal(err)
				} else if ok {
					want = append(want, string(inOrder(d)))
				}
			}
			sol := w.candidates(q)[0]
			w.same(f, sol, w.run(q, sol), want, false)
			if i%4 == 1 {
				continue
			}
			f.Projection = bsontest.Doc(t, `{_id: 1, s: {$meta: "textScore"}}`)
			f.Sort = bsontest.Doc(t, `{s: {$meta: "textScore"}, _id: 1}`)
			q = w.query(f)
			got := w.run(q, w.candidates(q)[0])
			if len(got) != len(want) {
				t.Fatalf("%s with scores: %d, want %d", filter, len(got), len(want))
			}
			ix := w.coll.Index("txt")
			last := math.Inf(1)
			for _, g := range got {
				d := bson.Raw(g)
				score, _ := d.Get("s").AsFloat()
				n, _ := d.Get("_id").AsInt64()
				i := slices.IndexFunc(docs, func(o bson.Raw) bool { m, _ := o.Get("_id").AsInt64(); return m == n })
				full := ix.TextScore(docs[i], ix.TextQuery(search, "", false, false))
				if math.Abs(score-full) > 1e-9 || score > last {
					t.Fatalf("%s: score %v after %v, want %v", d, score, last, full)
				}
				last = score
			}
		}
	}
}

// TestGeoPlans compares $geoWithin, $geoIntersects and $near through geospatial indexes with the same filters evaluated
// on each document, and requires that $near delivers them by distance.
func TestGeoPlans(t *testing.T) {
	for _, shards := range []int{1, 3} {
		key := ""
		if shards > 1 {
			key = `{k: "hashed"}`
		}
		rng := rand.New(rand.NewPCG(3, 4))
		w := newWorld(t, key, shards, `{key: {p: "2dsphere", a: 1}, name: "sphere"}`, `{key: {q: "2d"}, name: "flat"}`, `{key: {a: 1, p: "2dsphere"}, name: "asphere"}`, `{key: {a: 1}, name: "a_1"}`)
		coordinates := func() (float64, float64) {
			if rng.IntN(2) == 0 {
				return rng.Float64()*2 - 1, rng.Float64()*2 - 1
			}
			return rng.Float64()*340 - 170, rng.Float64()*160 - 80
		}
		for i := range 150 {
			x, y := coordinates()
			point := fmt.Sprintf(`{type: "Point", coordinates: [%v, %v]}`, x, y)
			if i%5 == 0 {
				point = fmt.Sprintf(`[%s, {type: "Point", coordinates: [%v, %v]}]`, point, y, x/4)
			}
			if i%7 == 0 {
				point = fmt.Sprintf(`{type: "LineString", coordinates: [[%v, %v], [%v, %v]]}`, x, y, x/2, y/2)
			}
			doc := fmt.Sprintf("{_id: %d, k: %d, a: %d, p: %s, q: [%v, %v]}", i, i, i%4, point, y, x)
			if i%11 == 0 {
				doc = fmt.Sprintf("{_id: %d, k: %d, a: 1}", i, i)
			}
			w.insert(bsontest.Doc(t, doc))
		}
		docs := w.all()
		for i := range 100 {
			x, y := coordinates()
			var filter string
			switch i % 6 {
			case 5:
				filter = "{a: 1}"
			case 0:
				filter = fmt.Sprintf(`{p: {$geoWithin: {$centerSphere: [[%v, %v], %v]}}}`, x, y, rng.Float64())
			case 1:
				filter = fmt.Sprintf(`{q: {$geoWithin: {$box: [[%v, %v], [%v, %v]]}}, a: {$gt: 0}}`, y, x, y+20, x+30)
			case 2:
				filter = fmt.Sprintf(`{p: {$geoIntersects: {$geometry: {type: "LineString", coordinates: [[%v, %v], [0, 0]]}}}, a: 1}`, x, y)
			case 3:
				near := fmt.Sprintf(`$geometry: {type: "Point", coordinates: [%v, %v]}`, x, y)
				if rng.IntN(2) == 0 {
					near += fmt.Sprintf(", $maxDistance: %v", rng.Float64()*5e6)
				}
				filter = fmt.Sprintf(`{p: {$near: {%s}}, a: {$gte: %d}}`, near, rng.IntN(2))
			case 4:
				filter = fmt.Sprintf(`{q: {$near: [%v, %v], $minDistance: %v}}`, y, x, rng.Float64())
				if rng.IntN(2) == 0 {
					filter = fmt.Sprintf(`{q: {$nearSphere: [%v, %v]}}`, x, y)
				}
			}
			f := plan.Find{Filter: bsontest.Doc(t, filter)}
			q := w.query(f)
			want := w.matching(docs, q.Match)
			for _, sol := range w.candidates(q) {
				got := w.run(q, sol)
				w.same(f, sol, got, want, false)
				if near := nearOf(q.Match); near != nil {
					w.inDistance(near, got)
				}
			}
		}
	}
}

func nearOf(n match.Node) (near *match.Near) {
	match.Walk(n, func(n match.Node) {
		if x, ok := n.(*match.Near); ok {
			near = x
		}
	})
	return near
}

func (w *world) matching(docs []bson.Raw, n match.Node) (out []string) {
	w.t.Helper()
	var scratch expr.Scratch
	for _, d := range docs {
		if ok, err := n.Matches(w.env, d, &scratch); err != nil {
			w.t.Fatal(err)
		} else if ok {
			out = append(out, string(inOrder(d)))
		}
	}
	return out
}

// inDistance fails if rows are not ordered by distance.
func (w *world) inDistance(near *match.Near, rows []string) {
	w.t.Helper()
	last := -1.0
	for _, r := range rows {
		d, ok := near.Distance(bson.Raw(r))
		if !ok || d < last {
			w.t.Fatalf("distance %v of %s after %v", d, bson.Raw(r), last)
		}
		last = d
	}
}

// TestMinMax compares the documents that a find with the index bounds min and max returns with those whose values lie
// between the bounds, min included. A min that is not below max must be rejected.
func TestMinMax(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(9, 9)), plain}
	w := newWorld(t, "", 1, `{key: {a: 1}, name: "a_1"}`, `{key: {a: -1, b: 1}, name: "ab"}`)
	for i := range 50 {
		w.insert(bsontest.Doc(t, m.doc(i)))
	}
	docs := w.all()
	value := func(d bson.Raw, f string) bson.Value {
		if v := d.Get(f); !v.IsMissing() {
			return v
		}
		return bson.Null
	}
	less := func(a, b bson.Raw, hint string) int {
		if hint == "a_1" {
			return bson.Compare(value(a, "a"), value(b, "a"), nil)
		}
		return cmp.Or(-bson.Compare(value(a, "a"), value(b, "a"), nil), bson.Compare(value(a, "b"), value(b, "b"), nil))
	}
	for range 300 {
		hint := []string{"a_1", "ab"}[m.IntN(2)]
		key := func() bson.Raw {
			if hint == "a_1" {
				return bsontest.Doc(t, fmt.Sprintf("{a: %s}", m.value()))
			}
			return bsontest.Doc(t, fmt.Sprintf("{a: %s, b: %s}", m.value(), m.value()))
		}
		lo, hi := key(), key()
		f := plan.Find{Min: lo, Max: hi, Hint: bsontest.Doc(t, fmt.Sprintf("{h: %q}", hint)).Get("h")}
		if m.IntN(3) == 0 {
			f.Filter = bsontest.Doc(t, "{b: {$gte: 1}}")
		}
		q := w.query(f)
		sols, err := q.Candidates(w.env)
		if less(lo, hi, hint) >= 0 {
			if err == nil {
				t.Fatalf("min %s and max %s of %s are accepted", lo, hi, hint)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var want []bson.Raw
		for _, d := range docs {
			if less(d, lo, hint) >= 0 && less(d, hi, hint) < 0 {
				want = append(want, d)
			}
		}
		w.same(f, sols[0], w.run(q, sols[0]), w.matching(want, q.Match), false)
	}
}
