package traffic

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// placesMax bounds the positions of one statement, whose filter may contain several values.
const placesMax = 64

// layout is the line of hashes under a shard key, divided into partitions. It determines the partitions that the
// statements of a sample would visit, and their cost.
type layout struct {
	levels  []field
	suffix  field
	buckets int      // of the suffix, 0 if there is none
	bounds  []uint64 // where partitions begin, except the first
	null    uint32
	id      uint16
	hasID   bool
	visit   float64 // the price of visiting a partition
	point   float64 // the price of a point read
}

// field is a field of the key; a field that occurs in no statement has no number.
type field struct {
	path     uint16
	numbered bool
}

// targetSet holds the partitions that a statement would visit under the key of a layout.
type targetSet struct {
	parts []int // nil for all partitions
	at    uint64
	one   bool // at is the only position
	blind bool // unknown, because the statement has too many fields
}

// layoutOf returns the layout of a shard key for a number of partitions. Errors: InvalidOptions (72) for keys that
// are not hashed.
func (s *Sample) layoutOf(key shard.KeyPattern, partitions int) (*layout, error) {
	if key.IsZero() || key.Kind() == shard.Ranged {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Recorded traffic is replayed against hashed keys: under %s it depends on later splits where the ranges of values lie", key)
	}
	prices := cmp.Or(s.Prices, ratelimit.Normative())
	l := &layout{null: hashOf(bson.Null), visit: prices.Price(ratelimit.PartitionVisit, 1).Float(), point: prices.Price(ratelimit.PointRead, 1).Float()}
	l.id, l.hasID = s.numbers["_id"]
	for _, f := range key.Fields() {
		x := field{}
		x.path, x.numbered = s.numbers[f.Path.String()]
		if f.Buckets > 0 {
			l.suffix, l.buckets = x, f.Buckets
		} else {
			l.levels = append(l.levels, x)
		}
	}
	for i := 1; i < partitions; i++ {
		at, _ := bits.Div64(uint64(i), 0, uint64(partitions))
		l.bounds = append(l.bounds, at)
	}
	return l, nil
}

// cut moves the bounds between the partitions of a key of several levels to where splits would put them: so that
// partitions have about the same work, as far as positions allow. work lists positions with their work.
func (l *layout) cut(work []positioned) {
	if len(l.levels) < 2 || len(work) == 0 {
		return
	}
	slices.SortFunc(work, func(a, b positioned) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	all := 0.0
	for _, w := range work {
		all += w.ru
	}
	n, sum, last := len(l.bounds)+1, 0.0, uint64(0)
	bounds := l.bounds[:0]
	for i, w := range work {
		if i > 0 && w.at != work[i-1].at && len(bounds) < n-1 && w.at > last && sum >= all*float64(len(bounds)+1)/float64(n) {
			bounds = append(bounds, w.at)
			last = w.at
		}
		sum += w.ru
	}
	l.bounds = bounds
}

// positioned is work at one position of the line.
type positioned struct {
	at uint64
	ru float64
}

// partition returns the partition of a position.
func (l *layout) partition(at uint64) int {
	n, found := slices.BinarySearch(l.bounds, at)
	if found {
		n++
	}
	return n
}

// level returns the bits of a position that the hash h of the i-th level of the key determines, like
// shard.KeyPattern.
func (l *layout) level(i int, h uint32) uint64 {
	wide := uint64(h)<<32 | uint64(h)
	switch n := len(l.levels); {
	case n == 1:
		return wide
	case i == 0:
		return wide >> 32 << 32
	case n == 2:
		return wide >> 32
	case i == 1:
		return wide >> 48 << 16
	}
	return wide >> 48
}

// values returns the hashes of the values to which a statement fixes a field, none if it does not fix the field; a
// document without the field has null. blind is true if they are not known, because the statement has more fields than
// were kept.
func (l *layout) values(x *sample, f field) (out []uint32, blind bool) {
	if f.numbered {
		for _, v := range x.values {
			if v.path == f.path {
				out = append(out, v.hash)
			}
		}
	}
	if len(out) > 0 || x.kind&isDocument == 0 && x.kind&isCut == 0 {
		return out, false
	}
	if x.kind&isCut != 0 {
		return nil, true
	}
	return []uint32{l.null}, false
}

// find returns the partitions of a statement.
func (l *layout) find(x *sample) targetSet {
	starts := []uint64{0}
	for i, f := range l.levels {
		list, blind := l.values(x, f)
		switch {
		case blind:
			return targetSet{blind: true}
		case len(list) == 0 && i == 0, len(list)*len(starts) > placesMax:
			return targetSet{}
		case len(list) == 0:
			return l.spans(starts, i)
		}
		var next []uint64
		for _, s := range starts {
			for _, h := range list {
				next = append(next, s|l.level(i, h))
			}
		}
		starts = next
	}
	if l.buckets > 0 {
		starts = l.bucketsOf(x, starts)
	}
	if len(starts) == 1 {
		return targetSet{parts: []int{l.partition(starts[0])}, at: starts[0], one: true}
	}
	var parts []int
	for _, s := range starts {
		parts = append(parts, l.partition(s))
	}
	return l.several(parts)
}

// bucketsOf returns, for positions without a suffix, the positions of the buckets of the key's suffix: those of
// the values to which the statement fixes the suffix, otherwise all.
func (l *layout) bucketsOf(x *sample, starts []uint64) (out []uint64) {
	list, _ := l.values(x, l.suffix)
	for _, s := range starts {
		if len(list) > 0 {
			for _, h := range list {
				out = append(out, l.bucket(s, int(h%uint32(l.buckets))))
			}
			continue
		}
		for n := range l.buckets {
			out = append(out, l.bucket(s, n))
		}
	}
	return out
}

// bucket returns the position of the n-th bucket of a value.
func (l *layout) bucket(at uint64, n int) uint64 {
	far, _ := bits.Div64(uint64(n), 0, uint64(l.buckets))
	if len(l.levels) == 1 {
		return at + far
	}
	return at // below other levels, buckets are closer to each other than partitions
}

// spans returns the partitions of a statement that fixes only the first levels of a key (known is their number):
// those of the ranges of positions that begin at starts.
func (l *layout) spans(starts []uint64, known int) targetSet {
	width := ^uint64(0)
	for i := range known {
		width &^= l.level(i, ^uint32(0))
	}
	var parts []int
	for _, s := range starts {
		for p := l.partition(s); p <= l.partition(s|width); p++ {
			parts = append(parts, p)
		}
	}
	return l.several(parts)
}

// several returns partitions without duplicates as a targetSet, whose parts are nil if they are all partitions.
func (l *layout) several(parts []int) targetSet {
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if len(parts) > len(l.bounds) && len(parts) > 1 {
		return targetSet{}
	}
	return targetSet{parts: parts}
}

// cost returns the RU that a statement would cost if it visited the given partitions; the cost of a document or a
// page stays.
func (l *layout) cost(x *sample, w targetSet, partitions int) float64 {
	if x.kind&(isDocument|isPage) != 0 {
		return x.ru
	}
	rest, write := max(0, x.ru-float64(x.visits)*l.visit), x.kind&isWrite != 0
	n := len(w.parts)
	if w.parts == nil {
		n = partitions
	}
	switch byID := l.fixesID(x) && w.one; {
	case byID && x.visits > 0 && !write: // a query becomes a point read
		return max(l.point, rest)
	case byID:
		return rest
	case x.visits == 0 && !write: // a point read becomes a query
		return max(0, rest-l.point) + float64(n)*l.visit
	}
	return rest + float64(n)*l.visit
}

// fixesID reports whether a statement fixes the _id to one value.
func (l *layout) fixesID(x *sample) bool {
	n := 0
	for _, v := range x.values {
		if l.hasID && v.path == l.id {
			n++
		}
	}
	return n == 1
}
