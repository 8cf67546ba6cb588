package shards

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// keyAnalysis holds the arguments of analyzeShardKey.
type keyAnalysis struct {
	key             shard.KeyPattern
	characteristics bool
	distribution    bool
	rate            float64
	size            int64
}

// analyzedMax is the maximum number of documents that analyzeShardKey samples, unless the client requests fewer: it
// bounds the memory for counting distinct values.
const analyzedMax = 1 << 20

// runAnalyzeShardKey describes the values that a shard key has in a collection. It also counts to how many partitions
// each sampled query would be sent under that key; configureQueryAnalyzer starts the sampling. Arguments can switch
// off either.
// Manual: reference/command/analyzeShardKey. Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166),
// InvalidOptions (72), IllegalOperation (20).
func (s *State) runAnalyzeShardKey(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	a, err := parseKeyAnalysis(c)
	if err != nil {
		return err
	}
	coll := c.Cluster.Catalog().Collection(ns)
	switch {
	case coll == nil:
		return mongoerr.NoNamespace(ns.String())
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	}
	if bson.Equal(a.key.Spec().Value(), coll.Key.Spec().Value(), nil) {
		a.key = coll.Key // with the bounds of the existing partitions
	}
	if a.characteristics {
		if err := keyCharacteristics(c, coll, &a); err != nil {
			return err
		}
	}
	if a.distribution {
		return s.keyDistributions(c, coll, a.key)
	}
	return nil
}

// parseKeyAnalysis reads the arguments of analyzeShardKey.
func parseKeyAnalysis(c *command.Call) (a keyAnalysis, err error) {
	a.characteristics, a.distribution = true, true
	var key, suffix bson.Raw
	rated, sized := false, false
	err = c.ReadArgs(
		arguments.Doc("key", &key).Required(),
		arguments.Doc("suffix", &suffix),
		arguments.Bool("keyCharacteristics", &a.characteristics),
		arguments.Bool("readWriteDistribution", &a.distribution),
		arguments.By("sampleRate", func(v bson.Value) error { return a.readSampleRate(c, v) }).Given(&rated),
		arguments.Long("sampleSize", &a.size).Given(&sized).Check(func() error {
			if a.size < 1 {
				return mongoerr.New(mongoerr.BadValue, "sampleSize must be at least 1, got %d", a.size)
			}
			return nil
		}),
	)
	switch {
	case err != nil:
		return a, err
	case !a.characteristics && !a.distribution:
		return a, mongoerr.New(mongoerr.InvalidOptions, "Cannot analyze a shard key without analyzing the key characteristics or read and write distribution")
	case rated && sized:
		return a, mongoerr.New(mongoerr.InvalidOptions, "Cannot specify both 'sampleRate' and 'sampleSize'")
	}
	if key, err = shard.WithSuffix(key, suffix); err == nil {
		a.key, err = shard.ParseKeyPattern(key)
	}
	return a, err
}

// readSampleRate reads sampleRate. Errors: TypeMismatch (14), BadValue (2).
func (a *keyAnalysis) readSampleRate(c *command.Call, v bson.Value) error {
	var ok bool
	if a.rate, ok = v.AsFloat(); !ok {
		return mongoerr.WrongType(c.Field("sampleRate"), v.Type.String(), "double")
	}
	if !(a.rate > 0 && a.rate <= 1) {
		return mongoerr.New(mongoerr.BadValue, "sampleRate must be greater than 0 and at most 1, got %v", a.rate)
	}
	return nil
}

// hashKey returns a hash of an encoded shard key value (FNV-1a). The hash of a value is the same in every run, so
// that analyzeShardKey lists equally common values always in the same order.
func hashKey(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// keySample counts the documents with one shard key value.
type keySample struct {
	hash uint64
	n    int64
}

// keyCharacteristics appends a description of the key's values.
func keyCharacteristics(c *command.Call, coll *catalog.Collection, a *keyAnalysis) error {
	total := c.Cluster.Counts(coll.ID).Total(coll.Map)
	if total.Docs == 0 {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot analyze the characteristics of a shard key for an empty collection")
	}
	want := int64(analyzedMax)
	if a.size > 0 {
		want = min(want, a.size)
	}
	if a.rate > 0 {
		want = min(want, max(1, int64(a.rate*float64(total.Docs))))
	}
	step := max(1, float64(total.Docs)/float64(want))
	counts := map[uint64]int64{}
	var sampled, pairs, ascending int64
	var logical, last []byte
	err := eachDoc(c, coll, step, func(doc bson.Raw) bool {
		logical = a.key.AppendLogical(logical[:0], doc)
		counts[hashKey(logical)]++
		if sampled++; sampled > 1 {
			pairs++
			if slices.Compare(last, logical) < 0 {
				ascending++
			}
		}
		last = append(last[:0], logical...)
		return sampled < want
	})
	if err != nil {
		return err
	}
	most := make([]keySample, 0, len(counts))
	for h, n := range counts {
		most = append(most, keySample{h, n})
	}
	slices.SortFunc(most, func(a, b keySample) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.hash, b.hash)) })
	most = most[:min(len(most), mostCommonMax)]
	values, err := valuesOf(c, coll, a.key, step, most)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginDoc("keyCharacteristics")
	b.Int64("numDocsTotal", total.Docs)
	b.Int64("numOrphanDocs", 0)
	b.Int64("avgDocSizeBytes", total.Bytes/total.Docs)
	b.Int64("numDocsSampled", sampled)
	b.Bool("isUnique", isUniqueKey(coll, a.key))
	b.Int64("numDistinctValues", int64(len(counts)))
	b.BeginArray("mostCommonValues")
	for _, m := range most {
		b.BeginDoc("")
		b.Raw("value", values[m.hash])
		b.Int64("frequency", m.n)
		b.End()
	}
	b.End()
	b.BeginDoc("monotonicity")
	switch {
	case coll.Sharded() || a.key.Kind() != shard.Ranged || pairs == 0:
		b.String("type", "unknown") // documents are not read in insertion order
	case ascending*10 >= pairs*7:
		b.String("type", "monotonic")
	default:
		b.String("type", "not monotonic")
	}
	b.End()
	b.End()
	return nil
}

// mostCommonMax is the maximum number of most common shard key values in the reply of analyzeShardKey.
const mostCommonMax = 5

// isUniqueKey reports whether a unique index of all documents has exactly this key; the _id index counts if the
// collection is unsharded. A partial or sparse index leaves documents out, which may have equal values.
func isUniqueKey(coll *catalog.Collection, key shard.KeyPattern) bool {
	return key.IsID() && !coll.Sharded() || slices.ContainsFunc(coll.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && ix.Partial == nil && !ix.Sparse && bson.Equal(ix.Key.Value(), key.Spec().Value(), nil)
	})
}

// eachDoc visits every step-th document until visit returns false.
func eachDoc(c *command.Call, coll *catalog.Collection, step float64, visit func(doc bson.Raw) bool) error {
	s, err := c.Cluster.Find(&c.Op, coll.Namespace, plan.Find{})
	if err != nil {
		return err
	}
	defer s.Close()
	next := 0.0
	for i := 0.0; ; i++ {
		row, err := s.Next(c.Env())
		if row == nil || err != nil {
			return err
		}
		if i < next {
			continue
		}
		next += step
		if !visit(row.Doc) {
			return nil
		}
	}
}

// valuesOf reads documents and returns the shard key values whose hashes are in most, by hash; empty for a value
// whose documents have been deleted.
func valuesOf(c *command.Call, coll *catalog.Collection, key shard.KeyPattern, step float64, most []keySample) (map[uint64]bson.Raw, error) {
	wanted := map[uint64]bool{}
	for _, m := range most {
		wanted[m.hash] = true
	}
	values := map[uint64]bson.Raw{}
	var logical []byte
	err := eachDoc(c, coll, step, func(doc bson.Raw) bool {
		logical = key.AppendLogical(logical[:0], doc)
		if h := hashKey(logical); wanted[h] && values[h] == nil {
			b := bson.NewBuilder(nil)
			key.AppendValues(b, doc)
			values[h] = b.Doc()
		}
		return len(values) < len(wanted)
	})
	for h := range wanted {
		if values[h] == nil {
			values[h] = bson.Empty // deleted between the two passes
		}
	}
	return values, err
}
