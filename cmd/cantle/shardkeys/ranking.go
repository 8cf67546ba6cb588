package shardkeys

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// Request is one shape of the workload.
type Request struct {
	Command string
	Fixed   []string // paths that it fixes to one value or a few
	Count   int64
	Refused int64   // of these runs, those that were refused for lack of request units
	RU      float64 // of all runs
	Visited float64 // partitions, on average
}

// candidate is one shard key with its rating.
type candidate struct {
	fields  []string
	suffix  string // path from which a synthetic suffix is computed, _id if the suffix is random, "" without a suffix
	buckets int    // of the suffix
	pattern shard.KeyPattern

	spread, newest spread
	present        float64 // share of the documents that have every field
	distinct       int64
	suits          float64 // suitability of the type of its values
	targeted       float64 // share of the requests, -1 when there are none
	ru             float64 // of the requests
	score          float64
	current        bool
	change         int // what a change to the key would be: nothing, a refinement of the current key, or another key
}

// Values of candidate.change.
const (
	noChange = iota
	refinement
	otherKey
)

// Ranking compares the candidates.
type Ranking struct {
	Prices     *ratelimit.PriceList // that the requests were charged by
	DB, Coll   string
	Partitions int // that are simulated
	Top        int // keys that are listed
	Docs       *Documents
	Requests   []Request
	Current    bson.Raw // GetPartitions' reply
	Given      int      // of the Requests, those at the end that the user named; they were not recorded
	list       []*candidate
	recent     []bson.Raw
	inserts    float64 // share of the RU of all requests that inserts have
}

// The least numbers for a ranking. With fewer, the sample is too small.
const (
	// DocumentsLeast is the number of documents in the collection from which shard keys are ranked.
	DocumentsLeast = 10
	// requestsLeast is the number of recorded requests other than inserts from which they count as the workload.
	requestsLeast = 20
)

// Bounds of how many keys of several fields are tried.
const (
	pairsFrom     = 5 // single fields
	bucketsPerOne = 4 // buckets of a suffix for every partition
)

// Rank fills in the list, the best first.
func (r *Ranking) Rank() {
	r.recent = r.Docs.recent()
	r.inserts = r.insertShare()
	for _, path := range r.Docs.order {
		f := r.Docs.fields[path]
		if r.Docs.only != nil && !slices.Contains(r.Docs.only, path) {
			continue
		}
		if f.arrays > 0 || f.spread.docs*2 < r.Docs.Seen {
			continue // arrays are refused, and documents without the key share one partition
		}
		c := &candidate{fields: []string{path}, pattern: f.pattern, spread: f.spread, suits: f.suits()}
		c.present = float64(f.spread.docs) / float64(r.Docs.Seen)
		c.distinct = r.Docs.estimate(&f.spread)
		r.try(c)
	}
	slices.SortStableFunc(r.list, better)
	singles := slices.Clone(r.list)
	for i, a := range singles {
		if i >= pairsFrom && !r.fixes(a.fields[0]) {
			continue
		}
		r.trySuffix(a, "_id", r.Docs.Stored, 1)
		for j, b := range singles {
			if j >= pairsFrom && !r.fixes(b.fields[0]) || i == j || a.distinct >= b.distinct || strings.HasPrefix(b.fields[0], a.fields[0]+".") {
				continue
			}
			r.tryPair(a, b)
			if b.fields[0] != "_id" {
				r.trySuffix(a, b.fields[0], b.distinct, b.present)
			}
		}
	}
	slices.SortStableFunc(r.list, better)
}

// better compares two candidates for sorting: the one with the higher score is first; with equal scores, the current
// key, then its refinements, then the simpler one.
func better(a, b *candidate) int {
	return cmp.Or(cmp.Compare(math.Round(b.score), math.Round(a.score)), cmp.Compare(a.change, b.change), cmp.Compare(a.parts(), b.parts()), cmp.Compare(b.distinct, a.distinct))
}

// changeTo returns what a change to the key would be.
func (r *Ranking) changeTo(c *candidate) int {
	now := r.currentKey()
	switch {
	case c.current:
		return noChange
	case len(now) > 0 && len(c.fields) >= len(now) && slices.Equal(c.fields[:len(now)], now):
		return refinement
	}
	return otherKey
}

// demand returns the RU that the requests of a shape needed or, for those that were refused, would have needed at the
// average of the others.
func (q *Request) demand() float64 {
	if served := q.Count - q.Refused; served > 0 {
		return q.RU * float64(q.Count) / float64(served)
	}
	return q.RU
}

// insertShare returns the share of the demand that inserts have, from 0 to 1.
func (r *Ranking) insertShare() float64 {
	all, inserts := 0.0, 0.0
	for i := range r.Requests {
		q := &r.Requests[i]
		if all += q.demand(); q.Command == "insert" {
			inserts += q.demand()
		}
	}
	if all == 0 {
		return 0
	}
	return inserts / all
}

// recorded returns the number of recorded requests other than inserts.
func (r *Ranking) recorded() (n int64) {
	for _, q := range r.Requests[:len(r.Requests)-r.Given] {
		if q.Command != "insert" {
			n += q.Count
		}
	}
	return n
}

// tooFew reports whether too few requests were recorded, and none named by the user, to judge which filters the
// workload has.
func (r *Ranking) tooFew() bool { return r.Given == 0 && r.recorded() < requestsLeast }

// parts returns the number of fields of the key, by which simpler keys rank first; a suffix counts as two.
func (c *candidate) parts() int {
	if c.suffix != "" {
		return len(c.fields) + 2
	}
	return len(c.fields)
}

// suits returns how well a field's values suit as a shard key, from 0 to 1, by their types: queries fix identifiers,
// but rarely measurements and flags.
func (f *field) suits() float64 {
	best, most := 1.0, int64(0)
	for kind, n := range f.kinds {
		if n <= most {
			continue
		}
		most = n
		switch kind {
		case bson.TypeDouble, bson.TypeDecimal128:
			best = 0.5
		case bson.TypeBool, bson.TypeNull:
			best = 0.3
		case bson.TypeDateTime, bson.TypeTimestamp:
			best = 0.7
		default:
			best = 1
		}
	}
	return best
}

// fixes reports whether a request fixes a path.
func (r *Ranking) fixes(path string) bool {
	return slices.ContainsFunc(r.Requests, func(q Request) bool { return slices.Contains(q.Fixed, path) })
}

// tryPair rates the hierarchical shard key of two fields, a before b, by the documents kept from the scan, unless a
// is wellSpread or not useful.
func (r *Ranking) tryPair(a, b *candidate) {
	k, err := patternOf(a.fields[0], b.fields[0])
	if err != nil || r.wellSpread(a) || !r.useful(a) {
		return
	}
	c := &candidate{fields: []string{a.fields[0], b.fields[0]}, pattern: k, suits: (a.suits + b.suits) / 2, present: min(a.present, b.present)}
	r.spreadKept(c)
	c.distinct = max(a.distinct, b.distinct, r.Docs.estimate(&c.spread))
	r.try(c)
}

// trySuffix rates the shard key of a field with a synthetic suffix, which is computed from the field from, unless the
// field is wellSpread or not useful, or from has fewer values than the suffix. distinct is the number of different
// values of from, present the share of documents that have it.
func (r *Ranking) trySuffix(a *candidate, from string, distinct int64, present float64) {
	if r.wellSpread(a) || !r.useful(a) || a.fields[0] == from {
		return
	}
	c := &candidate{fields: a.fields, suffix: from, suits: a.suits, present: min(a.present, present)}
	c.buckets = min(400, bucketsPerOne*r.Partitions)
	if n := r.currentBuckets(from); n > 0 {
		c.buckets = n
	}
	if distinct < int64(c.buckets) {
		return
	}
	key, err := shard.WithSuffix(a.pattern.Spec(), SuffixSpec(from, c.buckets))
	if err != nil {
		return
	}
	if c.pattern, err = shard.ParseKeyPattern(key); err != nil {
		return
	}
	r.spreadKept(c)
	c.distinct = min(a.distinct*int64(c.buckets), max(1, r.Docs.Stored))
	r.try(c)
}

// SuffixSpec makes the suffix for shardCollection.
func SuffixSpec(from string, buckets int) bson.Raw {
	source := bson.E{"from", from}
	if from == "_id" {
		source = bson.E{"random", true}
	}
	return bson.D{source, {"buckets", int32(buckets)}}.Doc()
}

// spreadKept distributes the kept documents over the values of a key.
func (r *Ranking) spreadKept(c *candidate) {
	c.spread.heavy = ratelimit.NewSketch(64)
	for _, doc := range r.Docs.kept {
		c.spread.add(c.pattern, doc)
	}
}

// useful reports whether a further field after the first field of the key could help: if there are recorded requests
// other than inserts, some must fix the first field.
func (r *Ranking) useful(c *candidate) bool {
	return c.targeted < 0 || r.fixes(c.fields[0])
}

// wellSpread reports whether the key spreads the documents well, so that no second field or suffix is needed.
func (r *Ranking) wellSpread(c *candidate) bool {
	return c.distinct > 20*int64(r.Partitions) && c.newest.largest() < 0.05 && c.spread.largest() < 0.05
}

// try scores a candidate and lists it.
func (r *Ranking) try(c *candidate) {
	c.newest.heavy = ratelimit.NewSketch(64)
	for _, doc := range r.recent {
		c.newest.add(c.pattern, doc)
	}
	names := c.fields
	if c.suffix != "" {
		names = append(slices.Clone(names), c.suffix)
	}
	c.current = slices.Equal(names, r.currentKey()) && r.currentBuckets(names[len(names)-1]) == c.buckets
	c.change = r.changeTo(c)
	r.aim(c)
	n := r.Partitions
	even, fresh := 1/c.fullest(&c.spread, n), 1.0
	if c.newest.docs > 0 {
		// Few documents are uneven by chance alone.
		noise := 1 + math.Sqrt(2*float64(n)/float64(c.newest.docs))*2
		fresh = min(1, noise/c.fullest(&c.newest, n))
	}
	targeted := c.targeted
	if targeted < 0 {
		targeted = 0.5 * c.suits
	}
	// If inserts have most of the RU, it matters more how they spread than which filters the other requests have.
	filters := 0.40 * (1 - 0.75*r.inserts)
	c.score = 100 * c.present * (0.25*even + (0.75-filters)*fresh + filters*targeted)
	if few := float64(c.distinct) / float64(2*n); few < 1 {
		c.score *= few
	}
	if c.targeted < 0 {
		c.score *= c.suits
	}
	r.list = append(r.list, c)
}

// fullest returns the size of the fullest partition, divided by the average. Partitions can split within one value of
// a hierarchical key's first field, so for such a key only a value of the whole key limits how small partitions
// become.
func (c *candidate) fullest(s *spread, partitions int) float64 {
	if len(c.fields) > 1 {
		return max(1.1, s.largest()*float64(partitions))
	}
	return s.fullest(partitions)
}

// currentKey returns the fields of the collection's present shard key, none if the collection is unsharded.
func (r *Ranking) currentKey() (out []string) {
	key, _ := r.Current.Get("shardKeyDefinition").Doc()
	for name := range key.Fields() {
		out = append(out, string(name))
	}
	return out
}

// currentBuckets returns the number of buckets of the suffix that the present shard key has at a path, 0 if it has
// none there.
func (r *Ranking) currentBuckets(path string) int {
	key, _ := r.Current.Get("shardKeyDefinition").Doc()
	suffix, _ := key.Get(path).Doc()
	n, _ := suffix.Get("buckets").AsInt64()
	return int(n)
}

// aim computes, for one candidate key, the share of the recorded requests other than inserts, by RU, that would visit
// one partition (-1 if there are none), and the RU of all requests.
func (r *Ranking) aim(c *candidate) {
	n := float64(r.Partitions)
	asked, hit := 0.0, 0.0
	c.targeted, c.ru = -1, 0
	visitRU := r.Prices.Price(ratelimit.PartitionVisit, 1).Float() // for every partition that a query visits
	for _, q := range r.Requests {
		if q.Command == "insert" {
			c.ru += q.demand()
			continue
		}
		visits, whole := n, true
		first := slices.Contains(q.Fixed, c.fields[0])
		for _, f := range c.fields[1:] {
			whole = whole && slices.Contains(q.Fixed, f)
		}
		switch {
		case first && c.suffix != "" && !slices.Contains(q.Fixed, c.suffix):
			visits = min(n, float64(c.buckets))
		case first:
			visits = 1 // a prefix of a hierarchical key is on few
		}
		each := q.demand() / float64(q.Count)
		asked += q.demand()
		if visits <= 1 {
			hit += q.demand()
		}
		beyond := max(0, each-visitRU*q.Visited)
		if visits <= 1 && whole && slices.Contains(q.Fixed, "_id") {
			each = beyond + 1 // a read by key
		} else {
			each = beyond + visitRU*visits
		}
		c.ru += each * float64(q.Count)
	}
	if asked > 0 {
		c.targeted = hit / asked
	}
}

// partitionRate is the maximum RU/s of one partition, and so of one value of a shard key that has one field.
const partitionRate = ratelimit.ShardRateMax

// reach returns the maximum RU/s that a collection with this key can use: its hottest value cannot use more than the
// RU/s of one partition.
func (c *candidate) reach() float64 {
	hot := max(c.newest.largest(), c.spread.largest())
	if c.newest.docs > 0 {
		hot = c.newest.largest()
	}
	return partitionRate / max(hot, 1e-9)
}

// name prints the key.
func (c *candidate) name() string {
	s := strings.Join(c.fields, " > ")
	if c.suffix != "" {
		from := c.suffix
		if from == "_id" {
			from = "random"
		}
		s += fmt.Sprintf(" + %s/%d", from, c.buckets)
	}
	return s
}
