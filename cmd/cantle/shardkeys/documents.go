package shardkeys

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// Limits of the memory that a scan of a collection uses, however large the collection is.
const (
	fieldsMax     = 64   // paths considered
	fieldDepthMax = 3    // of dotted paths
	keptMax       = 5000 // documents kept for keys of several fields
	keptBytes     = 64 << 20
	// PositionBuckets is the number of equal parts into which the range of positions is divided; a simulated
	// partition consists of some neighbouring parts.
	PositionBuckets = 1024
	// distinctBits is the size of the bitmap that counts distinct values.
	distinctBits = 1 << 17
	// recentPart divides the number of kept documents: the newest 1/recentPart of them, a tenth, count as recent.
	recentPart = 10
)

// Documents has the results of a scan of a collection.
type Documents struct {
	Stored, StoredBytes int64    // of the whole collection
	Seen, bytes         int64    // looked at
	only                []string // paths to consider as keys, nil for all
	order               []string // paths, in the order of their first occurrence
	fields              map[string]*field
	kept                []bson.Raw // chosen at random
	keptSize            int64
	random              *rand.Rand
	path                []byte
}

// field has the statistics of one path.
type field struct {
	path    string
	pattern shard.KeyPattern
	kinds   map[bson.Type]int64
	arrays  int64
	spread  spread
}

// spread counts how the scanned documents are distributed over the values of one shard key, and over partitions.
type spread struct {
	docs, bytes int64
	values      distinct
	heavy       *ratelimit.Sketch // bytes by value
	positions   [PositionBuckets]int64
	key         []byte
}

// NewDocuments begins the statistics of a scan. only has the paths to consider as shard keys, separated by commas; ""
// means all.
func NewDocuments(only string) *Documents {
	d := &Documents{fields: map[string]*field{}, random: rand.New(rand.NewPCG(1, 2))}
	for _, s := range strings.Split(only, ",") {
		if s = strings.TrimSpace(s); s != "" {
			d.only = append(d.only, s)
		}
	}
	return d
}

// Add adds one document of the scan to the statistics. Some documents, chosen at random, are copied and kept.
func (d *Documents) Add(doc bson.Raw) {
	d.Seen++
	d.bytes += int64(len(doc))
	d.walk(doc, "", 1, doc)
	switch {
	case len(d.kept) < keptMax && d.keptSize+int64(len(doc)) <= keptBytes:
		d.keptSize += int64(len(doc))
		d.kept = append(d.kept, doc.Clone())
	case len(d.kept) > 0:
		if i := d.random.Int64N(d.Seen); i < int64(len(d.kept)) && d.keptSize+int64(len(doc)-len(d.kept[i])) <= keptBytes {
			d.keptSize += int64(len(doc) - len(d.kept[i]))
			d.kept[i] = doc.Clone()
		}
	}
}

// walk counts the fields of a document.
func (d *Documents) walk(at bson.Raw, prefix string, depth int, doc bson.Raw) {
	for it := at.Iter(); it.Next(); {
		d.path = append(append(d.path[:0], prefix...), it.Name...)
		if inner, ok := it.Value.Doc(); ok && it.Value.Type == bson.TypeDocument {
			if depth < fieldDepthMax && !strings.Contains(string(it.Name), ".") {
				d.walk(inner, string(d.path)+".", depth+1, doc)
			}
			continue
		}
		f := d.fields[string(d.path)]
		if f == nil {
			if f = d.newField(string(d.path)); f == nil {
				continue
			}
		}
		if it.Value.Type == bson.TypeArray {
			f.arrays++
			continue
		}
		f.kinds[it.Value.Type]++
		f.spread.add(f.pattern, doc)
	}
}

// newField begins the statistics of a path. It returns nil if the path cannot be a shard key, or if fieldsMax paths
// have statistics already.
func (d *Documents) newField(path string) *field {
	if len(d.fields) >= fieldsMax || strings.HasPrefix(path, "$") || strings.Contains(path, ".$") {
		return nil
	}
	pattern, err := patternOf(path)
	if err != nil {
		return nil
	}
	f := &field{path: path, pattern: pattern, kinds: map[bson.Type]int64{}, spread: spread{heavy: ratelimit.NewSketch(64)}}
	d.fields[path] = f
	d.order = append(d.order, path)
	return f
}

// patternOf returns the hashed shard key of some paths.
func patternOf(paths ...string) (shard.KeyPattern, error) {
	key := bson.D{}
	for _, p := range paths {
		key = append(key, bson.E{p, "hashed"})
	}
	return shard.ParseKeyPattern(key.Doc())
}

// add counts a document in the distribution of the shard key k, at the position at which the server would store the
// document.
func (s *spread) add(k shard.KeyPattern, doc bson.Raw) {
	h, err := k.Hash(doc)
	if err != nil {
		return
	}
	s.key = k.AppendLogical(s.key[:0], doc)
	size := int64(len(doc))
	s.docs++
	s.bytes += size
	s.values.add(fingerprint(s.key))
	s.heavy.Add(s.key, size)
	s.positions[h>>(64-bits.Len(PositionBuckets-1))] += size
}

// fingerprint returns a hash of a key's value, by which different values are counted. It is not the hash that places
// documents.
func fingerprint(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}

// largest returns the share of the bytes, from 0 to 1, that the heaviest value of the key has; it is a lower bound.
func (s *spread) largest() float64 {
	top := s.heavy.Top(1)
	if len(top) == 0 || s.bytes == 0 {
		return 0
	}
	return max(float64(top[0].Weight-top[0].Error)/float64(s.bytes), 1/float64(s.docs))
}

// fullest returns the size of the largest partition, divided by the average, if the documents are placed on so many
// partitions.
func (s *spread) fullest(partitions int) float64 {
	if s.bytes == 0 {
		return 1
	}
	most := int64(0)
	for i := range partitions {
		sum := int64(0)
		for _, n := range s.positions[i*PositionBuckets/partitions : (i+1)*PositionBuckets/partitions] {
			sum += n
		}
		most = max(most, sum)
	}
	return float64(most) * float64(partitions) / float64(s.bytes)
}

// distinct counts different values by a bitmap (linear counting): almost exactly while they are few, otherwise by an
// estimate from the number of free bits.
type distinct struct{ bits []uint64 }

func (d *distinct) add(h uint64) {
	if d.bits == nil {
		d.bits = make([]uint64, distinctBits/64)
	}
	h %= distinctBits
	d.bits[h/64] |= 1 << (h % 64)
}

// count estimates the number (linear counting).
func (d *distinct) count() int64 {
	free := distinctBits
	for _, w := range d.bits {
		free -= bits.OnesCount64(w)
	}
	if free == 0 {
		free = 1
	}
	return int64(math.Round(distinctBits * math.Log(distinctBits/float64(free))))
}

// estimate returns the number of different values in the collection. If the scan read a sample in which nearly every
// document has a different value, the number is scaled up to the whole collection.
func (d *Documents) estimate(s *spread) int64 {
	n := min(s.values.count(), s.docs)
	if d.Seen < d.Stored && n > s.docs*9/10 {
		return n * d.Stored / max(1, d.Seen)
	}
	return n
}

// recent returns the newest tenth of the documents kept from the scan: by _id if it contains a time, otherwise by the
// date field with the most values. Without either it returns none.
func (d *Documents) recent() []bson.Raw {
	path := d.timePath()
	if path == "" {
		return nil
	}
	type dated struct {
		doc bson.Raw
		key []byte
	}
	var list []dated
	p, err := patternOf(path)
	if err != nil {
		return nil
	}
	for _, doc := range d.kept {
		list = append(list, dated{doc, p.AppendLogical(nil, doc)})
	}
	slices.SortFunc(list, func(a, b dated) int { return cmp.Compare(string(a.key), string(b.key)) })
	var out []bson.Raw
	for _, x := range list[len(list)-max(1, len(list)/recentPart):] {
		out = append(out, x.doc)
	}
	return out
}

// timePath returns the path of the field that has the time at which documents were written, "" if there is none.
func (d *Documents) timePath() string {
	best := ""
	for _, path := range d.order {
		f := d.fields[path]
		mostly := func(t bson.Type) bool { return f.kinds[t]*10 >= d.Seen*9 }
		switch {
		case path == "_id" && mostly(bson.TypeObjectID):
			if f.spread.values.count() > 1 && d.manySeconds() {
				return path
			}
		case mostly(bson.TypeDateTime):
			if best == "" || f.spread.values.count() > d.fields[best].spread.values.count() {
				best = path
			}
		}
	}
	return best
}

// manySeconds reports whether the ObjectIds of the documents come from at least 100 different seconds. Those of a
// bulk import come from few, and their order has no meaning.
func (d *Documents) manySeconds() bool {
	seconds := map[string]bool{}
	for _, doc := range d.kept {
		if v := doc.Get("_id"); v.Type == bson.TypeObjectID && len(v.Data) == 12 {
			seconds[string(v.Data[:4])] = true
		}
	}
	return len(seconds) >= 100
}
