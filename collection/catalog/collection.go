package catalog

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Database is a named set of collections with optional shared throughput.
type Database struct {
	Name       string
	Throughput Throughput
	Planned    *Planned // changes of Throughput; nil for none
}

// Collection is one collection or view definition at one catalog version.
// Immutable; use the With methods inside Change.
type Collection struct {
	Namespace collection.Namespace
	ID        keyspace.CollectionID
	UUID      [16]byte
	// Version is the catalog version that last changed this entry.
	Version uint64
	Options Options
	// Key is the shard key pattern, with the collection's seed; the zero pattern
	// for an unsharded collection.
	Key shard.KeyPattern
	// Map places hash ranges on shards; an unsharded collection has one shard.
	Map *shard.Map
	// Indexes holds every index; the first is _id_.
	Indexes    []*Index
	Throughput Throughput
	Planned    *Planned // changes of Throughput; nil for none
	// Shares are the parts of the throughput that a redistribution gave to shards; nil
	// means equal parts. They hold as long as they fit Map and Throughput.
	Shares []Share
	// Zones are ranges of the shard key with shards of their own, by position.
	Zones []Zone
	// Unbalanced excludes the collection from the balancer; Unmerged only from its merges.
	Unbalanced, Unmerged bool
	// VisibleFrom is the time of the last change of shards or indexes that readers of
	// older snapshots cannot follow: they would look for entries where there were none
	// yet. It is not stored, since older snapshots end with the process.
	VisibleFrom storage.Timestamp
	// Frozen makes writers wait while the collection is being rewritten, or, without being stored, while a change
	// of the entry is undetermined. A process that has the store exclusively ignores it when it starts.
	Frozen bool
	// Rewriting is the command that copies the documents to other positions; nil for none. Only an exclusive server
	// sets it. It is stored, and the command runs again after a restart.
	Rewriting *Rewriting
	// NextIndex is the number of the next index.
	NextIndex keyspace.IndexID

	held int64 // bytes counted for the entry
	pins *pins // of this entry, from the moment it was put
	// since is a time at which the entry was in the store. With peers, a server that has applied
	// this time uses this entry or a newer one.
	since storage.Timestamp
}

// Rewriting is a command that copies the documents of a collection to other positions, as stored in the collection's
// catalog entry, so that a restarted server runs it again. Immutable.
type Rewriting struct {
	Command bson.Raw // with its arguments, for shard/ddl
	Runs    int      // number of starts; a clean shutdown of the server resets it to 0
}

// Name returns the name of the command.
func (r *Rewriting) Name() string {
	first, _ := r.Command.First()
	return string(first.Name)
}

// IndexState determines whether writers maintain an index and whether readers may use it.
type IndexState string

// The states. A building index is maintained by writers and not read; a dropping index is neither.
const (
	IndexReady    IndexState = "ready"
	IndexBuilding IndexState = "building"
	IndexDropping IndexState = "dropping"
)

// Index is one index of a collection.
type Index struct {
	*index.Spec
	ID    keyspace.IndexID
	State IndexState
	// Staged marks an index built for a command that makes all its changes at once when the index is ready.
	// Clients do not see a staged index, its name may equal that of another index, and a start after a crash
	// drops it.
	Staged bool
	// Outdated marks an index whose entries have the format version KeysVersion instead of that of its kind, so
	// that they must not be read. Such an index stays in state Building until WithIndexRebuild replaces it.
	Outdated    bool
	KeysVersion int32
	// Multikey records which components of which fields have held arrays.
	Multikey index.MultikeyPaths
}

// ThroughputMode determines how a collection's or database's RU/s are provisioned.
type ThroughputMode string

// The modes. Source: Azure Cosmos DB, "set-throughput". ThroughputNone is ours: metered, not limited.
const (
	ThroughputNone       ThroughputMode = ""
	ThroughputManual     ThroughputMode = "manual"
	ThroughputAutoscale  ThroughputMode = "autoscale"
	ThroughputServerless ThroughputMode = "serverless"
)

// Throughput is provisioned request units per second.
type Throughput struct {
	Mode ThroughputMode
	// RU is the manual value, or the maximum of autoscale.
	RU int64
	// HighestRU is the highest value ever set; it bounds how far RU may fall.
	HighestRU int64
	// Switches configure how the throughput is distributed.
	Switches Switches
}

// Sharded reports whether the collection has a shard key.
func (c *Collection) Sharded() bool { return !c.Key.IsZero() }

// LimitsValues reports whether the documents of one shard key value have a maximum size. They have one if the
// collection has a throughput of its own (provisioned or serverless), or is sharded and pays from that of its database,
// according to its pool. Without a shard key all documents have the same value. Capped collections have no such limit.
func (c *Collection) LimitsValues(pool *ratelimit.Pool) bool {
	switch {
	case c.Options.Capped:
		return false
	case c.Throughput.Mode != ThroughputNone:
		return true
	}
	return c.Sharded() && pool.Shared()
}

// Expires reports whether a TTL index removes documents of the collection.
func (c *Collection) Expires() bool {
	for _, ix := range c.Indexes {
		if ix.HasTTL {
			return true
		}
	}
	return false
}

// IsView reports whether the entry is a view definition.
func (c *Collection) IsView() bool { return c.Options.ViewOn != "" }

// Kind returns the type that listCollections prints and dumps contain: view, timeseries or collection.
func (c *Collection) Kind() string {
	switch {
	case c.IsView():
		return "view"
	case c.Options.TimeSeries != nil:
		return "timeseries"
	}
	return "collection"
}

// IDIndex returns the _id_ index.
func (c *Collection) IDIndex() *Index { return c.Indexes[0] }

// PhysicalID reports whether the _id_ index has index entries of its own. Without a shard key, records are stored in
// _id order and _id_ needs no entries, except where OwnOrder is true.
func (c *Collection) PhysicalID() bool { return c.Sharded() || c.Options.OwnOrder() }

// KeepsInsertionOrder reports whether reads without a sort and without an index return the documents in the order of
// their insertion where that differs from the order of their records: see write.Target and exec. The order of records
// is that of insertion in capped collections, and that of the _id in clustered ones. Reads of several partitions have
// no order.
func (c *Collection) KeepsInsertionOrder() bool {
	return !c.Sharded() && !c.Options.OwnOrder() && !c.Options.Clustered && !c.IsView()
}

// Index finds an index by name, ignoring staged indexes.
func (c *Collection) Index(name string) *Index {
	for _, ix := range c.Indexes {
		if ix.Name == name && !ix.Staged {
			return ix
		}
	}
	return nil
}

// UnstagedIndexes returns the indexes that are not staged.
func (c *Collection) UnstagedIndexes() []*Index {
	if !slices.ContainsFunc(c.Indexes, func(ix *Index) bool { return ix.Staged }) {
		return c.Indexes
	}
	return slices.DeleteFunc(slices.Clone(c.Indexes), func(ix *Index) bool { return ix.Staged })
}

// clone copies the entry one level deep, for a change.
func (c *Collection) clone() *Collection {
	d := *c
	d.Indexes = append([]*Index(nil), c.Indexes...)
	return &d
}

// With returns a copy to which fn has been applied.
func (c *Collection) With(fn func(c *Collection)) *Collection {
	d := c.clone()
	fn(d)
	return d
}

// WithIndex returns a copy of the catalog entry with the index ix, which replaces the index with the same ID, or is
// added if there is none.
func (c *Collection) WithIndex(ix *Index) *Collection {
	d := c.clone()
	for i := range d.Indexes {
		if d.Indexes[i].ID == ix.ID {
			d.Indexes[i] = ix
			return d
		}
	}
	d.Indexes = append(d.Indexes, ix)
	return d
}

// WithIndexFor returns a copy of the catalog entry in which the index ix is removed from its place in the list and
// replaces the index with the number old.
func (c *Collection) WithIndexFor(old keyspace.IndexID, ix *Index) *Collection {
	d := c.WithoutIndex(ix.ID)
	for i := range d.Indexes {
		if d.Indexes[i].ID == old {
			d.Indexes[i] = ix
		}
	}
	return d
}

// WithIndexRebuild returns a copy of the catalog entry in which the index with the number old, whose entries are
// Outdated, is replaced by an empty index in state Building, under a new number.
func (c *Collection) WithIndexRebuild(old keyspace.IndexID) *Collection {
	d := c.clone()
	for i, ix := range d.Indexes {
		if ix.ID == old {
			d.Indexes[i] = &Index{Spec: ix.Spec, ID: d.NextIndex, State: IndexBuilding}
			d.NextIndex++
		}
	}
	return d
}

// WithoutIndex returns a copy without the index.
func (c *Collection) WithoutIndex(id keyspace.IndexID) *Collection {
	d := c.clone()
	d.Indexes = d.Indexes[:0]
	for _, ix := range c.Indexes {
		if ix.ID != id {
			d.Indexes = append(d.Indexes, ix)
		}
	}
	return d
}

// newIDIndex makes the _id_ index that every collection has.
func newIDIndex(env *mql.Env, coll bson.Raw, by mql.CollatorVersion) (*Index, error) {
	b := bson.NewBuilder(nil)
	b.Int32("v", 2)
	b.BeginDoc("key")
	b.Int32("_id", 1)
	b.End()
	b.String("name", "_id_")
	if len(coll) > 0 {
		b.Raw("collation", coll)
	}
	spec, err := index.ParseStoredSpec(env, b.Doc(), by)
	if err != nil {
		return nil, err
	}
	return &Index{Spec: spec, ID: 1, State: IndexReady}, nil
}

// uniqueID makes the _id_ index of a capped collection unique: an index entry then consists of the _id alone, so two
// documents with the same _id conflict. In other collections they conflict at the record, which is stored by position
// and _id; in a capped collection each document gets a position of its own.
func (ix *Index) uniqueID() {
	spec := *ix.Spec
	spec.Unique = true
	ix.Spec = &spec
}
