package ddl

import (
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
)

// CreateOptions is a collection or view to be made.
type CreateOptions struct {
	// Raw is the options as create takes them and listCollections prints them: capped,
	// collation, validator, viewOn, pipeline, …
	Raw bson.Raw
	// Implicit: an insert, upsert or createIndexes needs the collection; that it
	// exists already is no error.
	Implicit bool
	// ShardKey shards the collection; nil does not.
	ShardKey bson.Raw
	// UniqueKey makes the shard key unique.
	UniqueKey bool
	// Shards is how many it begins with; 0 = by throughput or the default.
	Shards int
	// Zones of the shard key.
	Zones []ZoneRange
	// Throughput of its own; the zero value takes the server's default.
	Throughput catalog.Throughput
	// Indexes beside _id_, as createIndexes takes them.
	Indexes []bson.Raw
	// UUID of the collection, which no other may have; zero makes one.
	UUID [16]byte
}

// Create makes a collection or a view.
// Manual: reference/command/create. Errors: NamespaceExists (48) unless it
// exists with the same options, InvalidNamespace (73), InvalidOptions (72),
// those of options, pipelines, indexes and throughput.
func (d *Definer) Create(o *cluster.Op, ns collection.Namespace, opts CreateOptions) error {
	if err := CheckNamespace(ns); err != nil {
		return err
	}
	if !opts.Implicit {
		if err := checkOptions(opts.Raw); err != nil {
			return err
		}
	}
	if o.Txn != nil {
		return d.createInTxn(o, ns, opts)
	}
	if err := d.data.AwaitName(o.Env.Context(), ns); err != nil {
		return err
	}
	var made *catalog.Collection
	err := d.alter(o, func(m *catalog.Mutation) error {
		made = nil
		if old := m.Snapshot().Collection(ns); old != nil {
			if opts.Implicit || sameCollection(old, opts) {
				return nil
			}
			return mongoerr.NamespaceTaken(ns.String())
		}
		if err := checkAccount(o, m.Snapshot()); err != nil {
			return err
		}
		coll, err := d.newCollection(o, m, ns, opts)
		if err != nil {
			return err
		}
		if err := m.Put(coll); err != nil {
			return err
		}
		made = coll
		if err := checkView(o, m.Snapshot(), coll); err != nil {
			return err
		}
		return logCreate(o, m.Txn(), coll, opts)
	})
	if err == nil && made != nil {
		d.Jobs.Provision(made)
	}
	return err
}

// CreateMissing makes a collection that a write needs, unless there is one; the
// transaction of the op sees it afterwards, whoever has made it.
// Errors: those of Create but NamespaceExists.
func (d *Definer) CreateMissing(o *cluster.Op, ns collection.Namespace) error {
	err := d.Create(o, ns, CreateOptions{Implicit: true})
	if known := (*mongoerr.Error)(nil); err != nil && (!errors.As(err, &known) || known.Code != mongoerr.NamespaceExists) {
		return err
	}
	d.adopt(o, ns)
	return nil
}

// checkAccount bounds databases and collections as an account of Azure Cosmos DB
// does. Source: Azure Cosmos DB, "concepts-limits". Errors: BadValue (2).
func checkAccount(o *cluster.Op, snap *catalog.Snapshot) error {
	if !o.Env.Strict || len(snap.Databases())+len(snap.Collections("")) < ratelimit.NamespacesMax {
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "an account has at most %d databases and collections together; drop some that are not needed", ratelimit.NamespacesMax)
}

// newCollection makes the entry that Create puts.
func (d *Definer) newCollection(o *cluster.Op, m *catalog.Mutation, ns collection.Namespace, opts CreateOptions) (*catalog.Collection, error) {
	coll, err := m.NewCollection(o.Env, ns, opts.Raw)
	if err != nil {
		return nil, err
	}
	if opts.UUID != [16]byte{} {
		if other := m.Snapshot().ByUUID(opts.UUID); other != nil {
			return nil, mongoerr.New(mongoerr.NamespaceExists, "The collection %s has the UUID that %s is to have", other.Namespace, ns)
		}
		coll.UUID = opts.UUID
	}
	if coll.IsView() {
		return coll, nil
	}
	sharded := len(opts.ShardKey) > 0
	if coll.Options.TimeSeries != nil {
		if sharded {
			return nil, mongoerr.NotImplementedYet("sharding a time-series collection")
		}
		opts.Indexes = append(seriesIndexes(&coll.Options), opts.Indexes...)
	}
	if coll.Throughput, err = d.firstThroughput(o, m.Snapshot(), ns, opts.Throughput, sharded); err != nil {
		return nil, err
	}
	if sharded {
		if coll, err = d.sharded(o, coll, ShardOptions{Key: opts.ShardKey, Unique: opts.UniqueKey, Shards: opts.Shards, Zones: opts.Zones}, 1); err != nil {
			return nil, err
		}
	}
	for _, raw := range opts.Indexes {
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return nil, err
		}
		same, err := checkIndex(o, coll, spec, 0)
		if err != nil {
			return nil, err
		}
		if !same {
			coll = withNewIndex(coll, spec, catalog.IndexReady)
		}
	}
	return coll, nil
}

// firstShards is how many shards a collection begins with: RU/s divided by what
// one carries, as many as its database has partitions if it shares that one's
// throughput, else the default.
func (d *Definer) firstShards(coll *catalog.Collection) int {
	switch t := coll.Throughput; t.Mode {
	case catalog.ThroughputManual, catalog.ThroughputAutoscale:
		return shard.Count(t.RU, ratelimit.FirstShardRate(jobs.Provisioned(t).Mode, d.Limits.ShardRU))
	case catalog.ThroughputNone:
		if db := d.catalog.Peek().Database(coll.Namespace.DB); db != nil && db.Throughput.Mode != catalog.ThroughputNone {
			return jobs.SharedPartitions(db.Throughput, d.Limits.ShardRU)
		}
	}
	return max(1, d.Limits.DefaultShards)
}

// firstThroughput is what a new collection gets: what was asked for, a part of
// its database's, or the server's default.
func (d *Definer) firstThroughput(o *cluster.Op, snap *catalog.Snapshot, ns collection.Namespace, t catalog.Throughput, sharded bool) (catalog.Throughput, error) {
	db := snap.Database(ns.DB)
	switch {
	case t.Mode != catalog.ThroughputNone:
		if err := ratelimit.CheckCollection(jobs.Provisioned(t), sharded, ratelimit.Load{}); err != nil {
			return t, err
		}
	case db != nil && db.Throughput.Mode != catalog.ThroughputNone:
		if o.Env.Strict {
			return t, ratelimit.CheckShared(sharing(snap, ns.DB), sharded)
		}
	case d.Limits.DefaultRU > 0:
		t.Mode, t.RU = catalog.ThroughputManual, d.Limits.DefaultRU
	}
	t.Switches = catalog.Switches{}.With(t.Switches)
	t.HighestRU = max(t.HighestRU, t.RU)
	return t, nil
}

// sharing counts the collections that share a database's throughput.
func sharing(snap *catalog.Snapshot, db string) (n int) {
	for _, coll := range snap.Collections(db) {
		if !coll.IsView() && coll.Throughput.Mode == catalog.ThroughputNone {
			n++
		}
	}
	return n
}

// sameCollection reports that create asks for what exists.
func sameCollection(old *catalog.Collection, opts CreateOptions) bool {
	if opts.UUID != [16]byte{} && opts.UUID != old.UUID || !bson.Equal(sorted(old.Options.Raw).Value(), sorted(opts.Raw).Value(), nil) {
		return false
	}
	if len(opts.ShardKey) == 0 {
		return !old.Sharded() || len(opts.Raw) > 0
	}
	return old.Sharded() && bson.Equal(old.Key.Spec().Value(), opts.ShardKey.Value(), nil)
}

// sorted is a document with its fields in order of their names, without those
// that only repeat a default.
func sorted(r bson.Raw) bson.Raw {
	if len(r) == 0 {
		return bson.Empty
	}
	var names []string
	for name, v := range r.Fields() {
		if v.IsNullish() || string(name) == "capped" && !v.Truthy() {
			continue
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	b := bson.NewBuilder(nil)
	for _, n := range names {
		b.Value(n, r.Get(n))
	}
	return b.Doc()
}

// checkOptions refuses options of create that do not go together.
// Manual: reference/command/create. Errors: InvalidOptions (72), BadValue (2).
func checkOptions(r bson.Raw) error {
	has := func(name string) bool { v, ok := r.Lookup(name); return ok && !v.IsNullish() }
	if len(r) == 0 {
		return nil
	}
	capped := has("capped") && r.Get("capped").Truthy()
	switch {
	case has("encryptedFields"):
		return mongoerr.NotImplementedYet("option encryptedFields of create")
	case has("pipeline") && !has("viewOn"):
		return mongoerr.New(mongoerr.InvalidOptions, "'viewOn' must be specified when 'pipeline' is present")
	case !capped && (has("size") || has("max")):
		return mongoerr.New(mongoerr.InvalidOptions, "the 'capped' field needs to be true when either the 'size' or 'max' fields are present")
	case capped && !has("size"):
		return mongoerr.New(mongoerr.InvalidOptions, "the 'size' field is required when 'capped' is true")
	case has("clusteredIndex") && capped:
		return mongoerr.New(6049200, "cannot make a collection both clustered and capped")
	case has("expireAfterSeconds") && !has("clusteredIndex") && !has("timeseries"):
		return mongoerr.New(mongoerr.InvalidOptions, "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified")
	}
	if !has("viewOn") {
		return nil
	}
	if on, _ := r.Get("viewOn").Str(); on == "" {
		return mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
	}
	for _, name := range []string{"capped", "clusteredIndex", "expireAfterSeconds", "validator", "validationLevel", "validationAction", "storageEngine",
		"indexOptionDefaults", "changeStreamPreAndPostImages", "idIndex"} {
		if has(name) && (name != "capped" || capped) {
			return mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: %s", name)
		}
	}
	return nil
}

// checkView parses the pipeline of a view definition and follows it to its end.
// Errors: those of the stages, OptionNotSupportedOnView (167),
// ViewDepthLimitExceeded (165), GraphContainsCycle (5), InvalidNamespace (73).
func checkView(o *cluster.Op, snap *catalog.Snapshot, coll *catalog.Collection) error {
	if !coll.IsView() {
		return nil
	}
	on := collection.Namespace{DB: coll.Namespace.DB, Coll: coll.Options.ViewOn}
	if err := CheckNamespace(on); err != nil {
		return err
	}
	for at, seen := on, map[collection.Namespace]bool{coll.Namespace: true}; ; {
		if seen[at] {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected: %s depends on itself", coll.Namespace)
		}
		seen[at] = true
		next := snap.Collection(at)
		if next == nil || !next.IsView() {
			break
		}
		if !next.Options.Collation.Equal(coll.Options.Collation) {
			return mongoerr.New(mongoerr.OptionNotSupportedOnView, "View %s has conflicting collation with view %s", coll.Namespace, next.Namespace)
		}
		at.Coll = next.Options.ViewOn
	}
	if _, _, _, err := snap.Resolve(coll.Namespace); err != nil {
		return err
	}
	_, err := agg.Parse(o.Env, coll.Options.Pipeline, agg.Options{NS: on, In: agg.InView})
	return err
}

// logCreate appends the record of a create, those of the indexes it comes with, and
// for a sharded collection that of a shardCollection.
func logCreate(o *cluster.Op, txn storage.Txn, coll *catalog.Collection, opts CreateOptions) error {
	series := coll.Options.TimeSeries != nil
	err := appendCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
		b.String("create", coll.Namespace.Coll)
		if len(coll.Options.Raw) > 0 {
			b.Splice(coll.Options.Raw.Elements())
		}
		if !coll.IsView() && !coll.Options.Clustered && !series {
			b.Raw("idIndex", coll.IDIndex().Raw())
		}
		if coll.Sharded() {
			b.Raw("shardKey", coll.Key.Spec())
		}
	})
	if err == nil && !series && len(coll.Indexes) > 1 {
		err = logIndexes(o, txn, coll, coll.Indexes[1:], false)
	}
	if err != nil || !coll.Sharded() {
		return err
	}
	return appendCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
		b.Splice(shardCommand(coll.Namespace, ShardOptions{Key: coll.Key.Spec(), Unique: opts.UniqueKey, Shards: opts.Shards}).Elements())
	})
}

// withNewIndex adds an index under the next number.
func withNewIndex(coll *catalog.Collection, spec *index.Spec, state catalog.IndexState) *catalog.Collection {
	d := coll.WithIndex(&catalog.Index{Spec: spec, ID: coll.NextIndex, State: state})
	d.NextIndex++
	return d
}

// shown prints a document for a message.
func shown(r bson.Raw) string {
	if len(r) == 0 {
		return "{}"
	}
	return r.String()
}
