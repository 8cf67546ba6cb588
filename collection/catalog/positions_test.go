package catalog_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// placed makes a catalog entry of one shard, with the given shard key ("" for none) and options.
func placed(t testing.TB, key, options string) *catalog.Collection {
	t.Helper()
	c := &catalog.Collection{}
	var err error
	c.Options, err = catalog.ParseOptions(env(), bsontest.Doc(t, options), mql.NewestCollator)
	bsontest.Must(t, err)
	if key != "" {
		c.Key, err = shard.ParseKeyPattern(bsontest.Doc(t, key))
		bsontest.Must(t, err)
		c.Key = c.Key.WithSeed(3)
	}
	c.Map, err = shard.NewMap(c.Key.Kind(), 1, 1)
	bsontest.Must(t, err)
	return c
}

func filter(t testing.TB, text string) match.Node {
	t.Helper()
	f, err := match.Parse(env(), bsontest.Doc(t, text))
	bsontest.Must(t, err)
	return match.Normalize(f)
}

// TestEqualPosition checks that a filter on the shard key gives the position of a document: its hash and the
// beginning of its id. A filter that allows several shard keys gives none.
func TestEqualPosition(t *testing.T) {
	const seed = 51
	t.Logf("seed %d", seed)
	m := rand.New(rand.NewPCG(seed, 1))
	values := []string{"1", "2.5", `"x"`, "null", `{"p":1}`, "true"}
	for _, key := range []string{`{"_id":"hashed"}`, `{"a":"hashed"}`, `{"a":"hashed","b":"hashed"}`, `{"a":1}`, `{"a":1,"b":1}`, `{"a":"hashed","b":1}`, `{"a":"hashed","b":{"buckets":8}}`} {
		c := placed(t, key, `{}`)
		for range 100 {
			text := fmt.Sprintf(`{"_id":%d,"a":%s,"b":%s}`, m.IntN(9), values[m.IntN(len(values))], values[m.IntN(len(values))])
			doc, f := bsontest.Doc(t, text), filter(t, text)
			want, err := c.Position(doc)
			bsontest.Must(t, err)
			id := c.AppendID(nil, doc)
			h, tail, ok := c.EqualPosition(f, true)
			if !ok || h != want || !bytes.HasPrefix(id, tail) || !c.Targeted(f, true) || !c.AllowsPosition(doc, h) || c.AllowsPosition(doc, h+1) {
				t.Fatalf("key %s, %s: position %v, tail %x, %t; it lies at %v, id %x", key, text, h, tail, ok, want, id)
			}
			if parts := c.IDParts(); parts != 1+c.Key.TailParts() || (len(tail) > 0) != (parts > 1) {
				t.Fatalf("key %s: %d parts of an id, tail %x", key, parts, tail)
			}
		}
		for _, text := range []string{`{}`, `{"_id":{"$gt":1},"a":{"$gt":1},"b":1}`, `{"_id":{"$in":[1,2]},"a":{"$in":[1,2]},"b":1}`} {
			if _, _, ok := c.EqualPosition(filter(t, text), true); ok || c.Targeted(filter(t, text), true) {
				t.Errorf("key %s: %s is taken for one shard key", key, text)
			}
		}
	}
	c := placed(t, `{"a":1}`, `{}`)
	if _, err := c.Position(bsontest.Doc(t, `{"a":[1]}`)); mongoerr.CodeOf(err) != mongoerr.ShardKeyNotFound {
		t.Errorf("an array in the shard key: %v", err)
	}
}

// TestRanges checks the shape of ranges: they ascend, do not touch and are not empty;
// the expansion of a filter is bounded.
func TestRanges(t *testing.T) {
	in := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprint(i))
		}
		return "{$in: [" + strings.Join(list, ",") + "]}"
	}
	for _, c := range []struct {
		key, filter string
		ranges      int
		whole       bool
	}{
		{`{"a":1}`, `{}`, 1, true},
		{`{"a":1}`, `{a: 1}`, 1, false},
		{`{"a":1}`, `{a: {$in: []}}`, 0, false},
		{`{"a":1}`, `{a: {$in: [3, 1, 2]}}`, 3, false},
		{`{"a":1}`, `{$or: [{a: {$gte: 1, $lt: 5}}, {a: {$gte: 3, $lt: 9}}]}`, 1, false},
		{`{"a":1}`, `{$or: [{a: {$gte: 1, $lt: 5}}, {a: {$gte: 5, $lt: 9}}]}`, 1, false}, // they touch
		{`{"a":1}`, `{$or: [{a: {$gte: 1, $lt: 4}}, {a: {$gte: 5, $lt: 9}}]}`, 2, false},
		{`{"a":1}`, `{a: ` + in(1024) + `}`, 1024, false},
		{`{"a":1,"b":1}`, `{a: ` + in(20) + `, b: {$gt: 1}}`, 20, false},
		{`{"a":1,"b":1}`, `{a: ` + in(1024) + `, b: ` + in(2) + `}`, 1024, false}, // b is not restricted
		{`{"a":"hashed"}`, `{a: ` + in(100) + `}`, 100, false},
		{`{"a":"hashed"}`, `{a: ` + in(1025) + `}`, 1, true},
		{`{"a":"hashed","b":{"buckets":4}}`, `{a: 1}`, 4, false},
		{"", `{a: 1}`, 1, true},
	} {
		rs := placed(t, c.key, `{}`).Ranges(filter(t, c.filter), true)
		if len(rs) != c.ranges || c.whole != (len(rs) == 1 && rs[0].Lo == nil && rs[0].Hi == nil) {
			t.Errorf("key %s, %.60s: %d ranges, want %d, the whole line: %t", c.key, c.filter, len(rs), c.ranges, c.whole)
		}
		for i, r := range rs {
			if r.IsEmpty() || i > 0 && (rs[i-1].Hi == nil || bytes.Compare(rs[i-1].Hi, r.Lo) >= 0) {
				t.Errorf("key %s, %.60s: range %d is empty or does not lie above the one before", c.key, c.filter, i)
			}
		}
	}
}

// TestTimePosition checks that positions ascend with the times, with SameTimeMax positions for documents of the same
// time; only times of 2^51 ms and more before or after 1970 share one. It also checks which collections have an order
// of their own.
func TestTimePosition(t *testing.T) {
	times := []int64{math.MinInt64, -1 << 51, 1 - 1<<51, -1, 0, 1, 1_700_000_000_000, 1<<51 - 1, 1 << 51, math.MaxInt64}
	for i, ms := range times[1:] {
		a, b := catalog.TimePosition(times[i]), catalog.TimePosition(ms)
		if far := times[i] < 1-1<<51 || ms > 1<<51-1; far != (a == b) || !far && b-a < catalog.SameTimeMax {
			t.Errorf("%d lies at %v, %d at %v", times[i], a, ms, b)
		}
	}
	c := placed(t, "", `{timeseries: {timeField: "t", metaField: "m"}}`)
	doc := bsontest.Doc(t, `{_id: 1, t: {"$date":{"$numberLong":"1000"}}}`)
	h, err := c.Position(doc)
	bsontest.Must(t, err)
	if h != catalog.TimePosition(1000) || !c.AllowsPosition(doc, h+catalog.SameTimeMax-1) || c.AllowsPosition(doc, h+catalog.SameTimeMax) || c.AllowsPosition(doc, h-1) {
		t.Errorf("a document of time 1000 lies at %v", h)
	}
	if _, err := c.Position(bsontest.Doc(t, `{_id: 1, t: 5}`)); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Errorf("no time: %v", err)
	}
	if capped := placed(t, "", `{capped: true, size: 1}`); !capped.AllowsPosition(doc, 77) || !capped.PhysicalID() || !c.PhysicalID() || placed(t, "", `{}`).PhysicalID() {
		t.Error("which collections have an order of their own")
	}
}

// TestTimeRanges checks the ranges of positions of some times: which of all times have a position in them, and whether
// ranges that touch are one.
func TestTimeRanges(t *testing.T) {
	all := []int64{math.MinInt64, -1 << 51, 1 - 1<<51, 2 - 1<<51, -1, 0, 1, 2, 3, 1<<51 - 2, 1<<51 - 1, 1 << 51, math.MaxInt64}
	for _, c := range []struct {
		times  []catalog.Times
		within []int64
		ranges int
		exact  bool
	}{
		{[]catalog.Times{{From: 0, To: 1}}, []int64{0, 1}, 1, true},
		{[]catalog.Times{{From: 0, To: 0}, {From: 2, To: 3}}, []int64{0, 2, 3}, 2, true},
		{[]catalog.Times{{From: 0, To: 1}, {From: 2, To: 3}}, []int64{0, 1, 2, 3}, 1, true},
		{[]catalog.Times{{From: math.MinInt64, To: -1}}, all[:5], 1, true},
		{[]catalog.Times{{From: 3, To: math.MaxInt64}}, all[8:], 1, true},
		{[]catalog.Times{{From: 2 - 1<<51, To: 1<<51 - 2}}, all[3:10], 1, true},
		{[]catalog.Times{{From: 1<<51 - 1, To: math.MaxInt64}}, all[10:], 1, true},
		{[]catalog.Times{{From: 1 << 51, To: math.MaxInt64}}, all[10:], 1, false},
		{[]catalog.Times{{From: 1<<51 - 1, To: 1<<51 - 1}, {From: 1 << 51, To: 1 << 51}, {From: math.MaxInt64, To: math.MaxInt64}}, all[10:], 1, false},
		{[]catalog.Times{{From: math.MinInt64, To: -1 << 51}}, all[:3], 1, false},
		{[]catalog.Times{{From: math.MinInt64, To: 1 - 1<<51}}, all[:3], 1, true},
		{[]catalog.Times{}, nil, 0, true},
	} {
		rs, exact := catalog.TimeRanges(c.times), true
		for _, times := range c.times {
			exact = exact && times.IsExact()
		}
		var within []int64
		for _, ms := range all {
			if slices.ContainsFunc(rs, func(r shard.Range) bool { return r.Contains(shard.HashPosition(catalog.TimePosition(ms))) }) {
				within = append(within, ms)
			}
		}
		if len(rs) != c.ranges || exact != c.exact || !slices.Equal(within, c.within) {
			t.Errorf("%v: %d ranges, exact %t, with the times %v", c.times, len(rs), exact, within)
		}
	}
	if a := catalog.TimePosition(5); !catalog.EqualTime(a, a+catalog.SameTimeMax-1) || catalog.EqualTime(a, a+catalog.SameTimeMax) || catalog.SharesTime(a) || !catalog.SharesTime(catalog.TimePosition(math.MaxInt64)+1) {
		t.Error("which positions are those of the same time, or of several")
	}
}

// TestZones checks that the zone of a shard is the one that contains all of it.
func TestZones(t *testing.T) {
	at := func(n uint64) shard.Position { return shard.HashPosition(keyspace.Hash(n)) }
	c := placed(t, `{"a":"hashed"}`, `{}`)
	c.Zones = []catalog.Zone{{"low", shard.Range{Hi: at(10)}}, {"mid", shard.Range{Lo: at(10), Hi: at(20)}}, {"high", shard.Range{Lo: at(30)}}}
	for _, z := range []struct {
		shard.Range
		want string
	}{
		{shard.Range{}, ""}, {shard.Range{Hi: at(10)}, "low"}, {shard.Range{Hi: at(11)}, ""}, {shard.Range{Lo: at(10), Hi: at(20)}, "mid"},
		{shard.Range{Lo: at(12), Hi: at(15)}, "mid"}, {shard.Range{Lo: at(9), Hi: at(15)}, ""}, {shard.Range{Lo: at(20), Hi: at(30)}, ""},
		{shard.Range{Lo: at(30)}, "high"}, {shard.Range{Lo: at(40), Hi: at(50)}, "high"}, {shard.Range{Lo: at(15)}, ""},
	} {
		if got := c.ZoneOf(&shard.Descriptor{Range: z.Range}); got != z.want {
			t.Errorf("[%v, %v) is in zone %q, want %q", z.Lo, z.Hi, got, z.want)
		}
	}
	if got, want := c.ZoneBounds(), []shard.Position{at(10), at(20), at(30)}; !slices.EqualFunc(got, want, func(a, b shard.Position) bool { return bytes.Equal(a, b) }) {
		t.Errorf("bounds %v", got)
	}
}

// TestSwitches changes some settings and leaves the others.
func TestSwitches(t *testing.T) {
	s := catalog.Switches{ServerSideRetry: catalog.On, Burst: catalog.Off}
	s.Buckets[0] = catalog.Bucket{Percent: 10, AppName: "a"}
	if got := s.With(catalog.Switches{}); got != s {
		t.Errorf("nothing was changed: %+v", got)
	}
	got := s.With(catalog.Switches{Burst: catalog.On, PerMinute: catalog.Off, Buckets: [catalog.BucketsMax]catalog.Bucket{{Percent: -1}, {Percent: 30, AppName: "b"}}})
	want := catalog.Switches{ServerSideRetry: catalog.On, Burst: catalog.On, PerMinute: catalog.Off, Buckets: [catalog.BucketsMax]catalog.Bucket{{}, {Percent: 30, AppName: "b"}}}
	if got != want {
		t.Errorf("got %+v", got)
	}
	for _, standard := range []bool{true, false} {
		if catalog.Inherit.Or(standard) != standard || !catalog.On.Or(standard) || catalog.Off.Or(standard) || catalog.SwitchOf(standard).Or(!standard) != standard {
			t.Errorf("a switch beside the server's %t", standard)
		}
	}
}

// TestParseOptions reads each option.
func TestParseOptions(t *testing.T) {
	parse := func(text string) catalog.Options {
		t.Helper()
		o, err := catalog.ParseOptions(env(), bsontest.Doc(t, text), mql.NewestCollator)
		bsontest.Must(t, err)
		return o
	}
	if o := parse(`{}`); o.ValidationLevel != "strict" || o.ValidationAction != "error" || o.ExpireAfterSeconds != -1 || o.Validator != nil || o.Collation != nil {
		t.Errorf("no options: %+v", o)
	}
	for size, want := range map[string]int64{"1": 4096, "4096": 4096, "4097": 4352, "10000.5": 10240} {
		if o := parse(`{capped: true, size: ` + size + `, max: 7}`); !o.Capped || o.CapBytes != want || o.CapDocs != 7 {
			t.Errorf("size %s is %d bytes, want %d", size, o.CapBytes, want)
		}
	}
	o := parse(`{validator: {a: 1}, validationLevel: "off", validationAction: "warn", collation: {locale: "fr"}, clusteredIndex: {name: "n"},
		expireAfterSeconds: 5, timeseries: {timeField: "t", metaField: "m"}, changeStreamPreAndPostImages: {enabled: true}, viewOn: "v", pipeline: [{$limit: 1}]}`)
	if o.Validator == nil || o.ValidationLevel != "off" || o.ValidationAction != "warn" || o.Collation.Locale() != "fr" || len(o.CollationRaw) == 0 ||
		!o.Clustered || o.ClusteredName != "n" || o.ExpireAfterSeconds != 5 || o.TimeField != "t" || o.MetaField != "m" || !o.PrePostImages || o.ViewOn != "v" || len(o.Pipeline) != 1 {
		t.Errorf("all options: %+v", o)
	}
	if parse(`{validator: {}}`).Validator != nil || parse(`{changeStreamPreAndPostImages: {enabled: false}}`).PrePostImages {
		t.Error("empty options")
	}
	if _, err := catalog.ParseOptions(env(), bsontest.Doc(t, `{validator: {$nonsense: 1}}`), mql.NewestCollator); err == nil {
		t.Error("a validator that cannot be parsed")
	}
}
