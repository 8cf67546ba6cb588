package differential

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestModelMatches checks the evaluator, with which other tests compare the server's answers, by examples made by
// hand, because no other test checks it.
func TestModelMatches(t *testing.T) {
	parse := func(s string) bson.D {
		var out bson.D
		if err := bson.UnmarshalExtJSON([]byte(s), false, &out); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return out
	}
	for _, tc := range []struct {
		doc, filter string
		want        bool
	}{
		{`{"a":1}`, `{"a":{"$numberDouble":"1.0"}}`, true},
		{`{"a":[1,2]}`, `{"a":2}`, true},
		{`{"a":[1,2]}`, `{"a":[1,2]}`, true},
		{`{"a":[[1,2]]}`, `{"a":1}`, false},
		{`{}`, `{"a":null}`, true},
		{`{"a":[null]}`, `{"a":null}`, true},
		{`{"a":"x"}`, `{"a":{"$gt":1}}`, false},
		{`{}`, `{"a":{"$ne":1}}`, true},
		{`{"a":[1,5]}`, `{"a":{"$gt":4,"$lt":2}}`, true},
		{`{"a":[1,5]}`, `{"a":{"$elemMatch":{"$gt":4,"$lt":5}}}`, false},
		{`{"l":[{"x":1},{"x":2}]}`, `{"l.x":2}`, true},
		{`{"l":[{"x":1},{"x":2}]}`, `{"l.x":{"$nin":[2]}}`, false},
		{`{"l":[]}`, `{"l.x":{"$exists":false}}`, true},
		{`{"a":5}`, `{"a":{"$mod":[2,1]}}`, true},
		{`{"a":"abc"}`, `{"a":{"$regex":"^ab"}}`, true},
		{`{"a":[]}`, `{"a":{"$size":0}}`, true},
		{`{"a":[[1,2]]}`, `{"a.0":1}`, false},
		{`{"a":[[1,2]]}`, `{"a.0":[1,2]}`, true},
		{`{"a":[[1,2]]}`, `{"a.0.1":2}`, true},
		{`{"a":[[1,2]]}`, `{"a.0":{"$elemMatch":{"$gt":1}}}`, true},
		{`{"a":[[{"b":1}]]}`, `{"a.0.b":1}`, true},
		{`{"a":[[{"b":1}]]}`, `{"a.b":1}`, false},
		{`{"a":{"0":[1]}}`, `{"a.0":1}`, true},
		{`{"a":[{"0":1}]}`, `{"a.0":1}`, true},
		{`{"a":{"":1}}`, `{"a":{"$exists":true}}`, true},
		{`{"a":[1]}`, `{"a.1":null}`, false},
		{`{"a":[{}]}`, `{"a.b":null}`, true},
		{`{"a":{"$numberDouble":"NaN"}}`, `{"a":{"$lt":1}}`, false},
		{`{"a":{"$numberDouble":"-0.0"}}`, `{"a":0}`, true},
		{`{"a":{"$numberDecimal":"1.50"}}`, `{"a":1.5}`, true},
		{`{"a":{"$undefined":true}}`, `{"a":null}`, false},
		{`{"a":1}`, `{"$nor":[{"a":1},{"b":1}]}`, false},
		{`{}`, `{"$expr":{"$lt":["$a",0]}}`, true},
		{`{"a":[1]}`, `{"$expr":{"$gt":["$a",100]}}`, true},
	} {
		if got := matches(parse(tc.doc), parse(tc.filter)); got != tc.want {
			t.Errorf("%s on %s: %v", tc.filter, tc.doc, got)
		}
	}
}

// TestGeneratorIsBalanced checks that the generator of operations draws every kind, and that its filters match
// neither all documents nor none.
func TestGeneratorIsBalanced(t *testing.T) {
	kinds := map[string]int{}
	matched, tried := 0, 0
	for seed := range uint64(20) {
		g := newGenerator(seed)
		m := &model{docs: map[int32]bson.D{}}
		for range operationsPerRun {
			o := g.next()
			kinds[o.kind]++
			m.apply(o)
			if o.kind == "find" {
				tried += len(m.docs)
				matched += len(m.where(o.filter))
			}
		}
	}
	for _, kind := range []string{"insert", "find", "count", "group", "updateOne", "updateMany", "upsert", "delete"} {
		if kinds[kind] < 50 {
			t.Errorf("only %d %s in 20 runs", kinds[kind], kind)
		}
	}
	if share := float64(matched) / float64(tried); share < 0.15 || share > 0.85 {
		t.Errorf("filters match %.0f %% of the documents", share*100)
	}
}
