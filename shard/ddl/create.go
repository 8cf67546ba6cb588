package ddl

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// CreateOptions describes a collection or view to create.
type CreateOptions struct {
	// Raw holds the options as create takes them and listCollections prints them: capped,
	// collation, validator, viewOn, pipeline, …
	Raw bson.Raw
	// Implicit: a write, createIndexes or shardCollection needs the collection; it is no error if it
	// exists already.
	Implicit bool
	// ShardKey shards the collection; nil leaves it unsharded.
	ShardKey bson.Raw
	// UniqueKey makes the shard key unique.
	UniqueKey bool
	// Shards is the initial number of shards; 0 = by throughput or the default.
	Shards int
	// Zones of the shard key.
	Zones []ZoneRange
	// Throughput of its own; the zero value selects its database's, or else the server's default.
	Throughput catalog.Throughput
	// Indexes beside _id_, as createIndexes takes them.
	Indexes []bson.Raw
	// Stored: Indexes are from a catalog. An index without a collation then has the simple one, and
	// any locale is accepted: see index.ParseStoredSpec.
	Stored bool
	// UUID of the collection, which must be unique; zero generates one.
	UUID [16]byte
}

// Create creates a collection or a view.
// Manual: reference/command/create. Errors: NamespaceExists (48) unless it exists with the same options,
// InvalidNamespace (73), InvalidOptions (72), the errors of options, pipelines, indexes and throughput.
func (d *Definer) Create(o *cluster.Op, ns collection.Namespace, opts CreateOptions) error {
	if err := checkNamespace(ns); err != nil {
		return err
	}
	if err := o.MayWrite(ns.DB); err != nil {
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

// CreateMissing creates a collection for a write, unless it exists. Afterwards the transaction of the op sees the
// collection, whether this op or another has created it.
// Errors: the errors of Create except NamespaceExists.
func (d *Definer) CreateMissing(o *cluster.Op, ns collection.Namespace) error {
	err := d.Create(o, ns, CreateOptions{Implicit: true})
	if known := (*mongoerr.Error)(nil); err != nil && (!errors.As(err, &known) || known.Code != mongoerr.NamespaceExists) {
		return err
	}
	d.adopt(o, ns)
	return nil
}

// checkSpace returns an error if the disk is full, before changes that add data. The catalog itself
// may always change, so that collections can be dropped. Errors: storage.ErrDiskFull.
func (d *Definer) checkSpace() error {
	if d.store.DiskFull() {
		return storage.ErrDiskFull
	}
	return nil
}

// newCollection makes the entry for Create.
func (d *Definer) newCollection(o *cluster.Op, m *catalog.Mutation, ns collection.Namespace, opts CreateOptions) (*catalog.Collection, error) {
	if err := checkName(o, ns); err != nil {
		return nil, err
	}
	if err := d.checkSpace(); err != nil {
		return nil, err
	}
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
		parse := parseIndex
		if opts.Stored {
			parse = storedIndex
		}
		spec, err := parse(o, coll, raw)
		if err != nil {
			return nil, err
		}
		same, err := checkIndex(o, coll, spec, 0)
		if err != nil {
			return nil, err
		}
		if !same {
			coll = withNewIndex(coll, &catalog.Index{Spec: spec, State: catalog.IndexReady})
		}
	}
	return coll, nil
}

// logCreate appends to the change log the records of a new collection: of create, of createIndexes for its indexes
// (not for a time-series collection) and, if it is sharded, of shardCollection.
func logCreate(o *cluster.Op, txn storage.Txn, coll *catalog.Collection, opts CreateOptions) error {
	series := coll.Options.TimeSeries != nil
	err := logCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
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
	return logCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
		b.Splice(shardCommand(coll.Namespace, ShardOptions{Key: coll.Key.Spec(), Unique: opts.UniqueKey, Shards: opts.Shards}).Elements())
	})
}
