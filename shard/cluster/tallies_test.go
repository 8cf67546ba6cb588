package cluster

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
)

// TestTallies requires that a pipeline returns the same reply at the same price by the counters and by a scan, which a
// hint enforces. Counters that are wrong by a thousand then show which pipelines are answered from the counters; explain
// uses the same.
func TestTallies(t *testing.T) {
	const wrong = 1000
	for _, key := range []string{"", `{k: "hashed"}`} {
		s := newScene(t)
		m := made{}
		if key != "" {
			m = made{ShardKey: s.raw(key), Shards: 4}
		}
		coll := s.create(m)
		ask := func(trace *Trace, hint bson.Value, stages ...string) (string, *ratelimit.Meter) {
			t.Helper()
			o, pipeline := s.op(t.Context()), []bson.Raw{}
			o.Trace = trace
			for _, stage := range stages {
				pipeline = append(pipeline, s.raw(stage))
			}
			stream, err := s.Aggregate(o, dbc, agg.NewOutline(pipeline), hint)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			out := ""
			for {
				row, err := stream.Next(o.Env)
				if err != nil {
					t.Fatal(err)
				}
				if row == nil {
					stream.Settle()
					return out, &o.Receipt
				}
				out += row.Doc.String()
			}
		}
		for _, docs := range []int{0, 37} {
			if docs > 0 {
				s.fill(docs)
			}
			shift := s.tally.Of(coll.ID).Shard(coll.Map.Shards()[0].ID)
			for _, c := range []struct {
				stages  []string
				counted bool
			}{
				{[]string{`{$match: {}}`, `{$group: {_id: 1, n: {$sum: 1}}}`}, true},
				{[]string{`{$group: {_id: null, n: {$sum: 1}, m: {$count: {}}, l: {$sum: {$numberLong: "3"}}, z: {$sum: -2}}}`}, true},
				{[]string{`{$group: {_id: {a: "x"}, n: {$sum: 1}}}`}, true},
				{[]string{`{$count: "n"}`}, true},
				{[]string{`{$count: "n"}`, `{$project: {m: {$add: ["$n", 1]}}}`}, true},
				{[]string{`{$group: {_id: 1, n: {$sum: 1.5}}}`}, false},
				{[]string{`{$group: {_id: 1, n: {$push: 1}}}`}, false},
				{[]string{`{$group: {_id: "$k", n: {$sum: 1}}}`, `{$count: "n"}`}, false},
				{[]string{`{$match: {k: {$gte: 0}}}`, `{$count: "n"}`}, false},
				{[]string{`{$sort: {a: 1, b: 1}}`, `{$count: "n"}`}, false},
				{[]string{`{$skip: 1}`, `{$count: "n"}`}, false},
				{[]string{`{$limit: 5}`, `{$count: "n"}`}, false},
				{[]string{`{$count: "n"}`, `{$lookup: {from: "c", pipeline: [{$count: "n"}], as: "same"}}`}, false},
			} {
				var hint bson.Value
				if c.counted {
					hint = s.raw(`{_id: 1}`).Value()
				}
				want, cost := ask(nil, hint, c.stages...)
				got, price := ask(nil, bson.Value{}, c.stages...)
				if got != want || price.Total() != cost.Total() {
					t.Errorf("%v of %d documents under %q: %s for %v, by a scan %s for %v", c.stages, docs, key, got, price.Total(), want, cost.Total())
				}
				shift.Add(0, tally.Count{Docs: wrong})
				for _, trace := range []*Trace{nil, {}} {
					if got, _ := ask(trace, bson.Value{}, c.stages...); (got != want) != c.counted {
						t.Errorf("%v under %q, explained %v: %s, want a scan: %v", c.stages, key, trace != nil, got, !c.counted)
					}
				}
				shift.Add(0, tally.Count{Docs: -wrong})
			}
		}
		s.Close()
	}
}
