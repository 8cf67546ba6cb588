package cluster

import (
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
)

// skipper reads documents of db.c.
type skipper struct {
	*scene
	t *testing.T
}

func (s *skipper) read(stream *Stream, o *Op, err error) (ids []string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer stream.Close()
	for {
		row, err := stream.Next(o.Env)
		if err != nil {
			s.t.Fatal(err)
		}
		if row == nil {
			stream.Settle()
			return ids
		}
		ids = append(ids, row.Doc.Get("_id").String())
	}
}

func (s *skipper) find(o *Op, f plan.Find) []string {
	s.t.Helper()
	stream, err := s.Find(o, dbc, f)
	return s.read(stream, o, err)
}

func (s *skipper) aggregate(o *Op, stages ...string) []string {
	s.t.Helper()
	var pipeline []bson.Raw
	for _, stage := range stages {
		pipeline = append(pipeline, s.raw(stage))
	}
	stream, err := s.Aggregate(o, dbc, agg.NewOutline(pipeline), bson.Value{})
	return s.read(stream, o, err)
}

// TestSkipCounts compares finds and pipelines that skip the first documents of a collection with a read of all
// documents, for skips that end within and between the shards, in both directions, and requires the price of a scan.
// Counters that are wrong show which reads use them: not those in a transaction or at a past time, and not those with a
// filter.
func TestSkipCounts(t *testing.T) {
	const docs = 4200
	for _, shards := range []int{1, 4} {
		s := &skipper{newScene(t), t}
		m := made{}
		if shards > 1 {
			m = made{ShardKey: s.raw(`{_id: "hashed"}`), Shards: shards}
		}
		coll := s.create(m)
		s.fill(docs)
		skips := []int{999, 1000, 1400, docs / 2, docs/2 + 1, 3000, docs - 3, docs - 1, docs, docs + 5}
		sum := 0
		for _, d := range coll.Map.Shards() { // the borders of the shards
			sum += int(s.tally.Of(coll.ID).Shard(d.ID).Get().Docs)
			skips = append(skips, sum-1, sum, sum+1)
		}
		if sum != docs {
			t.Fatalf("%d documents are counted", sum)
		}
		for _, natural := range []string{`{$natural: 1}`, `{$natural: -1}`} {
			hint := s.raw(natural).Value()
			all := s.find(s.op(t.Context()), plan.Find{Hint: hint})
			for _, skip := range skips {
				for _, limit := range []int{0, 7} {
					want := all[min(skip, docs):]
					if limit > 0 {
						want = want[:min(limit, len(want))]
					}
					o := s.op(t.Context())
					if got := s.find(o, plan.Find{Hint: hint, Skip: int64(skip), Limit: int64(limit)}); !slices.Equal(got, want) {
						t.Errorf("%d shards, %s, skip %d, limit %d: %d documents %.60v, want %d %.60v", shards, natural, skip, limit, len(got), got, len(want), want)
					}
					if n := o.Receipt.Sum(ratelimit.CountEntry); n != int64(min(skip, docs)) {
						t.Errorf("%d shards, %s, skip %d: %d skipped documents are charged", shards, natural, skip, n)
					}
				}
			}
		}
		all := s.find(s.op(t.Context()), plan.Find{})
		if got := s.aggregate(s.op(t.Context()), `{$skip: 3000}`, `{$limit: 5}`); !slices.Equal(got, all[3000:3005]) {
			t.Errorf("%d shards: the pipeline returns %v, want %v", shards, got, all[3000:3005])
		}

		then, err := s.SnapshotTime(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := coll.Map.Shards()[shards-1].ID
		const wrong = 100 // the last shard seems to have more documents, and a skip of all but a few to leave more
		s.tally.Of(coll.ID).Shard(last).Add(0, tally.Count{Docs: wrong})
		skip := plan.Find{Skip: docs}
		for _, c := range []struct {
			name    string
			counted bool
			read    func(o *Op) []string
		}{
			{"find", true, func(o *Op) []string { return s.find(o, skip) }},
			{"explain", true, func(o *Op) []string { o.Trace = &Trace{}; return s.find(o, skip) }},
			{"aggregate", true, func(o *Op) []string { return s.aggregate(o, `{$skip: 4200}`) }},
			{"with another read", false, func(o *Op) []string {
				return s.aggregate(o, `{$skip: 4200}`, `{$lookup: {from: "c", pipeline: [{$count: "n"}], as: "same"}}`)
			}},
			{"filter", false, func(o *Op) []string { return s.find(o, plan.Find{Filter: s.raw(`{k: {$gte: 0}}`), Skip: docs}) }},
			{"past", false, func(o *Op) []string { o.At = then; return s.find(o, skip) }},
		} {
			if got := c.read(s.op(t.Context())); (len(got) > 0) != c.counted {
				t.Errorf("%d shards, %s: %d documents, want those of counters: %v", shards, c.name, len(got), c.counted)
			}
		}
		s.Close()
	}
}
