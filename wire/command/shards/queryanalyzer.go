package shards

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// queryAnalyzer holds the settings of configureQueryAnalyzer for one collection. It is immutable except for its
// bucket.
type queryAnalyzer struct {
	ns      collection.Namespace
	uuid    [16]byte
	rate    float64 // samples per second, 0 = off
	started time.Time
	stopped time.Time // zero while sampling is on
	bucket  *sampleBucket
}

// queryAnalyzers holds the analyzers of all collections. Safe for concurrent use.
type queryAnalyzers struct {
	on atomic.Pointer[map[collection.Namespace]*queryAnalyzer] // nil if none is on; commands read only this field
	savedsettings.Setting
	all map[collection.Namespace]*queryAnalyzer
}

// queryAnalyzersName is the name of the stored setting, sampleExpiry the lifetime of samples. samplesPerSecondMax is
// the maximum rate, sampledBytesMax the maximum bytes of one sample, sampledListMax the maximum bytes of all samples
// that $listSampledQueries lists, and sampleTimeMax the maximum time for storing the samples of one command.
const (
	queryAnalyzersName  = "queryAnalyzers"
	sampleExpiry        = 7 * 24 * time.Hour
	samplesPerSecondMax = 50
	sampledBytesMax     = 64 << 10
	sampledListMax      = 64 << 20
	sampleTimeMax       = 5 * time.Second
)

// sampledNS is the collection in which samples of queries are stored. Clients may also read it.
var sampledNS = collection.Namespace{DB: "config", Coll: "sampledQueries"}

// apply applies the stored setting.
func (q *queryAnalyzers) apply(doc bson.Raw) {
	all := map[collection.Namespace]*queryAnalyzer{}
	list, _ := doc.Get("analyzers").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("_id").Str()
		a := &queryAnalyzer{ns: collection.ParseNamespace(strings.Clone(name)), bucket: &sampleBucket{}}
		_, uuid, _ := d.Get("collUuid").Binary()
		copy(a.uuid[:], uuid)
		a.rate, _ = d.Get("samplesPerSecond").AsFloat()
		at, _ := d.Get("startTime").DateTime()
		a.started = time.UnixMilli(at)
		if at, ok := d.Get("stopTime").DateTime(); ok {
			a.stopped, a.rate = time.UnixMilli(at), 0
		}
		if was := q.all[a.ns]; was != nil && was.started.Equal(a.started) {
			a.bucket = was.bucket
		}
		all[a.ns] = a
	}
	q.all = all
	on := map[collection.Namespace]*queryAnalyzer{}
	for ns, a := range all {
		if a.rate > 0 {
			on[ns] = a
		}
	}
	if len(on) == 0 {
		q.on.Store(nil)
		return
	}
	q.on.Store(&on)
}

// set stores the query analyzer of a collection, or removes it if a is nil. It returns the previous analyzer.
func (q *queryAnalyzers) set(ctx context.Context, ns collection.Namespace, a *queryAnalyzer) (was *queryAnalyzer, err error) {
	if a == nil && !q.has(ns) {
		return nil, nil // the usual case
	}
	err = q.Change(ctx, func() (bson.Raw, error) {
		if was = q.all[ns]; was == nil && a == nil {
			return nil, nil
		}
		next := maps.Clone(q.all)
		if next == nil {
			next = map[collection.Namespace]*queryAnalyzer{}
		}
		delete(next, ns)
		if a != nil {
			next[ns] = a
		}
		b := bson.NewBuilder(nil)
		b.BeginArray("analyzers")
		for _, d := range analyzerDocs(next) {
			b.Raw("", d)
		}
		b.End()
		return b.Doc(), nil
	})
	return was, err
}

// has reports whether a collection has an analyzer.
func (q *queryAnalyzers) has(ns collection.Namespace) bool {
	q.Lock()
	defer q.Unlock()
	return q.all[ns] != nil
}

// queryAnalyzerDocs returns the documents of config.queryAnalyzers.
func (s *State) queryAnalyzerDocs() []bson.Raw {
	s.analyzers.Lock()
	defer s.analyzers.Unlock()
	return analyzerDocs(s.analyzers.all)
}

// analyzerDocs returns the documents of the analyzers, sorted by namespace.
func analyzerDocs(all map[collection.Namespace]*queryAnalyzer) (docs []bson.Raw) {
	order := slices.SortedFunc(maps.Keys(all), func(a, b collection.Namespace) int { return strings.Compare(a.String(), b.String()) })
	for _, ns := range order {
		a := all[ns]
		b := bson.NewBuilder(nil)
		b.String("_id", ns.String())
		b.Binary("collUuid", 4, a.uuid[:])
		a.append(b)
		b.DateTime("startTime", a.started.UnixMilli())
		if !a.stopped.IsZero() {
			b.DateTime("stopTime", a.stopped.UnixMilli())
		}
		docs = append(docs, b.Doc())
	}
	return docs
}

// append appends the settings of a query analyzer, in the form in which clients send them.
func (a *queryAnalyzer) append(b *bson.Builder) {
	if a.rate == 0 {
		b.String("mode", "off")
		return
	}
	b.String("mode", "full")
	b.Double("samplesPerSecond", a.rate)
}

// runConfigureQueryAnalyzer starts or stops the sampling of a collection's queries. While it is on, some of the
// queries are stored in config.sampledQueries, for analyzeShardKey.
// Manual: reference/command/configureQueryAnalyzer. Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166),
// BadValue (2), InvalidOptions (72).
func (s *State) runConfigureQueryAnalyzer(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	mode, rate, rated := "", 0.0, false
	err = c.ReadArgs(
		arguments.String("mode", &mode),
		arguments.By("samplesPerSecond", func(v bson.Value) error {
			var ok bool
			if rate, ok = v.AsFloat(); !ok {
				return mongoerr.WrongType(c.Field("samplesPerSecond"), v.Type.String(), "double", "long", "int", "decimal")
			}
			return nil
		}).Given(&rated),
	)
	switch {
	case err != nil:
		return err
	case mode == "":
		return mongoerr.MissingField(c.Field("mode"))
	case mode != "full" && mode != "off":
		return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", mode, c.Field("mode"))
	case mode == "full" && !rated:
		return mongoerr.New(mongoerr.InvalidOptions, "'samplesPerSecond' must be given for mode 'full'")
	case mode == "full" && !(rate > 0 && rate <= samplesPerSecondMax):
		return mongoerr.New(mongoerr.InvalidOptions, "'samplesPerSecond' must be greater than 0 and at most %d, got %v", samplesPerSecondMax, rate)
	}
	coll := c.Cluster.Catalog().Collection(ns)
	switch {
	case coll == nil:
		return mongoerr.NoNamespace(ns.String())
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	}
	now := c.Cluster.Now()
	a := &queryAnalyzer{ns: collection.ParseNamespace(strings.Clone(ns.String())), uuid: coll.UUID, rate: rate, started: now, bucket: &sampleBucket{}}
	if mode == "off" {
		a.rate, a.stopped = 0, now
	} else if err := makeSampled(c); err != nil {
		return err
	}
	was, err := s.analyzers.set(c.Ctx, a.ns, a)
	if err != nil {
		return err
	}
	if was != nil {
		c.Reply.BeginDoc("oldConfiguration")
		was.append(c.Reply)
		c.Reply.End()
	}
	c.Reply.BeginDoc("newConfiguration")
	a.append(c.Reply)
	c.Reply.End()
	return nil
}

// makeSampled creates the collection of the samples, with a TTL index and an index on the UUID of the collection.
func makeSampled(c *command.Call) error {
	var specs []bson.Raw
	for _, field := range []string{"expireAt", "collectionUuid"} {
		b := bson.NewBuilder(nil)
		b.Int32("v", 2)
		b.BeginDoc("key")
		b.Int32(field, 1)
		b.End()
		b.String("name", field)
		if field == "expireAt" {
			b.Int32("expireAfterSeconds", 0)
		}
		specs = append(specs, b.Doc())
	}
	env := mql.NewEnv(c.Ctx)
	env.NowMillis, env.DB = c.Cluster.Now().UnixMilli(), sampledNS.DB
	_, err := c.Server.DDL.CreateIndexes(&cluster.Op{Env: env, TxnNumber: -1}, sampledNS, specs)
	return err
}

// sampledDocs returns the documents of the stage $listSampledQueries: those of one collection, or all.
// Manual: reference/operator/aggregation/listSampledQueries.
// Errors: ExceededMemoryLimit (146) for more than sampledListMax bytes.
func (s *State) sampledDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) (docs []bson.Raw, err error) {
	ns, _ := spec.Get("namespace").Str()
	size := 0
	err = s.eachSample(o, func(doc bson.Raw) error {
		if name, _ := doc.Get("ns").Str(); ns != "" && name != ns {
			return nil
		}
		if size += len(doc); size > sampledListMax {
			return mongoerr.New(mongoerr.ExceededMemoryLimit, "there are more than %d MB of sampled queries: read config.sampledQueries instead", sampledListMax>>20)
		}
		docs = append(docs, doc.Clone())
		return nil
	})
	return docs, err
}
