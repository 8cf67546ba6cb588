package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// How many indexes a collection may have. Manual: reference/limits#number-of-indexes;
// Azure Cosmos DB: "indexing".
const (
	indexesMax       = 64
	indexesMaxStrict = 500
)

// Indexed is what CreateIndexes did.
type Indexed struct {
	Before, After int    // number of indexes, _id_ included
	Created       bool   // the collection was made
	Note          string // that there was nothing to do
}

// CreateIndexes adds the indexes that do not exist yet, and builds them while
// the collection is in use. A missing collection is created.
// Manual: reference/command/createIndexes. Errors: those of index.ParseSpec and
// Spec.Conflict, CannotCreateIndex (67), DuplicateKey (11000),
// CommandNotSupportedOnView (166).
func (d *Definer) CreateIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (Indexed, error) {
	create := d.createIndexes
	if o.Txn != nil {
		create = d.createIndexesInTxn
	}
	r, err := create(o, ns, specs)
	if err != nil {
		return Indexed{}, err
	}
	if r.Before == r.After {
		r.Note = "all indexes already exist"
	}
	return r, nil
}

// createIndexes is CreateIndexes outside of transactions.
func (d *Definer) createIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (Indexed, error) {
	for {
		coll := d.catalog.Peek().Collection(ns)
		if coll == nil {
			made, err := d.createIndexed(o, ns, specs)
			if err != nil {
				return Indexed{}, err
			}
			if made != nil {
				return Indexed{Before: 1, After: len(made.Indexes), Created: true}, nil
			}
			continue // somebody else was faster
		}
		if coll.IsView() {
			return Indexed{}, mongoerr.ViewNotAllowed(ns.String())
		}
		if ready, err := haveIndexes(o, coll, specs); ready || err != nil {
			return Indexed{Before: len(coll.Indexes), After: len(coll.Indexes)}, err
		}
		return d.addIndexes(o, ns, specs)
	}
}

// createIndexed makes a collection together with its indexes; nil when it
// exists already.
func (d *Definer) createIndexed(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (*catalog.Collection, error) {
	was := d.catalog.Peek().Collection(ns)
	if was != nil {
		return nil, nil
	}
	if err := d.Create(o, ns, CreateOptions{Implicit: true, Indexes: specs}); err != nil {
		return nil, err
	}
	coll := d.catalog.Peek().Collection(ns)
	if coll == nil {
		return nil, nil
	}
	for _, raw := range specs { // another creation may have been faster, without them
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return nil, err
		}
		if same, err := checkIndex(o, coll, spec, 0); err != nil || !same {
			return nil, err
		}
	}
	return coll, nil
}

// haveIndexes reports a collection that has some indexes already, ready to be read:
// nobody needs to be waited for to say so.
func haveIndexes(o *cluster.Op, coll *catalog.Collection, specs []bson.Raw) (bool, error) {
	for _, ix := range coll.Indexes {
		if ix.State != catalog.IndexReady {
			return false, nil
		}
	}
	for _, raw := range specs {
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return false, err
		}
		if same, err := checkIndex(o, coll, spec, 0); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// addIndexes publishes the new indexes as Building and has them built.
func (d *Definer) addIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (r Indexed, err error) {
	ctx := o.Env.Context()
	coll, unlock, err := d.Jobs.LockNamed(ctx, ns)
	if err != nil {
		return Indexed{}, err
	}
	defer unlock()
	id := coll.ID
	build := &jobs.Build{Collection: id}
	err = d.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().ByID(id)
		if coll == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "the collection was dropped while its indexes were created")
		}
		r.Before, r.After = len(coll.Indexes), len(coll.Indexes)
		build.Namespace, build.Indexes = coll.Namespace, build.Indexes[:0]
		docs := d.tally.Of(id).Total(coll.Map).Docs
		var added []*index.Spec
		for _, raw := range specs {
			spec, err := parseIndex(o, coll, raw)
			if err != nil {
				return err
			}
			same, err := checkIndex(o, coll, spec, docs)
			if err != nil {
				return err
			}
			if !same {
				build.Indexes = append(build.Indexes, coll.NextIndex)
				coll = withNewIndex(coll, spec, catalog.IndexBuilding)
				added = append(added, spec)
			}
		}
		if len(added) == 0 {
			return nil
		}
		r.After = len(coll.Indexes)
		build.Command = createIndexesCommand(coll.Namespace, added)
		made := build.Indexes
		build.Log = func(m *catalog.Mutation, coll *catalog.Collection) error {
			return logIndexes(o, m.Txn(), coll, numbered(coll, made), docs > 0)
		}
		return m.Put(coll)
	})
	if err != nil || len(build.Indexes) == 0 {
		return r, err
	}
	if err := d.Jobs.BuildIndexes(ctx, build); err != nil {
		return Indexed{}, err
	}
	d.committed(o)
	return r, nil
}

// createIndexesCommand is the command as currentOp shows it.
func createIndexesCommand(ns collection.Namespace, specs []*index.Spec) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("createIndexes", ns.Coll)
	b.BeginArray("indexes")
	for _, s := range specs {
		b.Raw("", s.Raw())
	}
	b.End()
	b.String("$db", ns.DB)
	return b.Doc()
}

// numbered are the indexes of some numbers.
func numbered(coll *catalog.Collection, ids []keyspace.IndexID) (out []*catalog.Index) {
	for _, ix := range coll.Indexes {
		if slices.Contains(ids, ix.ID) {
			out = append(out, ix)
		}
	}
	return out
}

// logIndexes appends the records of new indexes: one that has them all where they
// were built over documents, else one for each.
// Manual: reference/change-events/createIndexes. Observed: local.oplog.rs of mongod 7.0.
func logIndexes(o *cluster.Op, txn storage.Txn, coll *catalog.Collection, indexes []*catalog.Index, built bool) error {
	if built {
		return appendCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
			b.String("commitIndexBuild", coll.Namespace.Coll)
			id := catalog.NewUUID()
			b.Binary("indexBuildUUID", 4, id[:])
			b.BeginArray("indexes")
			for _, ix := range indexes {
				b.Raw("", ix.Raw())
			}
			b.End()
		})
	}
	for _, s := range indexes {
		err := appendCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
			b.String("createIndexes", coll.Namespace.Coll)
			s.Append(b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parseIndex reads a specification; without a collation it gets the
// collection's.
func parseIndex(o *cluster.Op, coll *catalog.Collection, raw bson.Raw) (*index.Spec, error) {
	if v := raw.Get("collation"); v.IsMissing() && len(coll.Options.CollationRaw) > 0 {
		b := bson.NewBuilder(nil)
		b.Splice(raw.Elements())
		b.Raw("collation", coll.Options.CollationRaw)
		raw = b.Doc()
	}
	if o.Env.Strict {
		raw = index.WithLastWrite(raw)
	}
	return index.ParseSpec(o.Env, raw)
}

// checkIndex compares a new index with those the collection has. same reports
// that there is nothing to do. docs is how many documents the collection holds.
func checkIndex(o *cluster.Op, coll *catalog.Collection, spec *index.Spec, docs int64) (same bool, err error) {
	if spec.IsID() {
		if !spec.Collation.Equal(coll.IDIndex().Collation) {
			own, _ := spec.Raw().Get("collation").Doc()
			return false, mongoerr.New(mongoerr.BadValue, "The _id index must have the same collation as the collection. Index collation: %s, collection collation: %s",
				shown(own), shown(coll.Options.CollationRaw))
		}
		return true, nil
	}
	if err := checkSeriesIndex(coll, spec); err != nil {
		return false, err
	}
	for _, ix := range coll.Indexes {
		if same, err := spec.Conflict(ix.Spec); same || err != nil {
			return same, err
		}
	}
	most := indexesMax
	if o.Env.Strict {
		most = indexesMaxStrict
	}
	if len(coll.Indexes) >= most {
		return false, mongoerr.New(mongoerr.CannotCreateIndex, "add index fails, too many indexes for %s key:%s", coll.Namespace, shown(spec.Key))
	}
	if spec.Unique {
		if err := checkUnique(o, coll, spec); err != nil {
			return false, err
		}
	}
	if o.Env.Strict {
		return false, checkIndexStrict(spec, docs)
	}
	return false, nil
}

// checkUnique refuses unique indexes that could only be kept per shard.
// Manual: core/sharding-shard-key#unique-indexes. Errors: CannotCreateIndex (67).
func checkUnique(o *cluster.Op, coll *catalog.Collection, spec *index.Spec) error {
	if !coll.Sharded() {
		return nil
	}
	ok := coll.Key.IsPrefixOf(spec.Key)
	if o.Env.Strict {
		ok = true
		for _, f := range coll.Key.Fields() {
			ok = ok && spec.Key.Get(f.Path.String()).IsNumber()
		}
	}
	if !ok || spec.Collation != nil {
		return mongoerr.New(mongoerr.CannotCreateIndex, "cannot create unique index over %s with shard key pattern %s", shown(spec.Key), coll.Key)
	}
	return nil
}

// compoundMaxStrict is how many fields an index may have in Cosmos DB.
const compoundMaxStrict = 8

// checkIndexStrict refuses what Azure Cosmos DB for MongoDB refuses.
// Source: Azure Cosmos DB, "indexing". Errors: CannotCreateIndex (67).
func checkIndexStrict(spec *index.Spec, docs int64) error {
	refuse := func(format string, args ...any) error {
		return mongoerr.New(mongoerr.CannotCreateIndex, format, args...)
	}
	switch {
	case spec.Unique && docs > 0:
		return refuse("The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.")
	case spec.Partial != nil && !spec.Unique:
		return refuse("partialFilterExpression is only supported for unique indexes")
	case spec.Sparse:
		return refuse("sparse indexes are not supported")
	case spec.Collation != nil:
		return refuse("indexes with a collation are not supported")
	case spec.Kind.Name == "hashed" || spec.Kind.Name == "text" || spec.Kind.Name == "2d":
		return refuse("%s indexes are not supported", spec.Kind.Name)
	case len(spec.Parts) > compoundMaxStrict:
		return refuse("Index exceeds the limit of %d fields", compoundMaxStrict)
	case spec.Kind.Name == "wildcard" && (len(spec.Parts) > 1 || spec.HasTTL || spec.Unique):
		return refuse("wildcard indexes cannot be compound, unique or expire documents")
	case spec.WildcardProjection != nil:
		return refuse("wildcardProjection is not supported")
	}
	return nil
}

// DropIndexes removes indexes: of the given names, of all names but _id_ when
// names is just "*", or of the given key pattern when it is not nil. It returns
// how many there were.
// Manual: reference/command/dropIndexes. Errors: NamespaceNotFound (26),
// IndexNotFound (27), InvalidOptions (72), AmbiguousIndexKeyPattern (181).
func (d *Definer) DropIndexes(o *cluster.Op, ns collection.Namespace, names []string, key bson.Raw) (was int, err error) {
	if err := noTxn(o, "dropIndexes"); err != nil {
		return 0, err
	}
	err = d.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(ns)
		if coll == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "ns not found %s", ns)
		}
		if coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		was = len(coll.Indexes)
		gone, err := chosen(coll, names, key)
		if err != nil || len(gone) == 0 {
			return err
		}
		next := coll
		for _, ix := range gone {
			next = next.WithoutIndex(ix.ID)
			if err := jobs.Delete(m, coll.ID, ix.ID); err != nil {
				return err
			}
			err := logCommandOn(o, m, ns.DB, coll, func(b *bson.Builder) { b.Splice(ix.Raw().Elements()) }, func(b *bson.Builder) {
				b.String("dropIndexes", ns.Coll)
				b.String("index", ix.Name)
			})
			if err != nil {
				return err
			}
		}
		return m.Put(next)
	})
	d.Jobs.DeleteSoon()
	return was, err
}

// chosen finds the indexes to drop.
func chosen(coll *catalog.Collection, names []string, key bson.Raw) (out []*catalog.Index, err error) {
	noID := func() error { return mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index") }
	if key != nil {
		for _, ix := range coll.Indexes {
			if bson.Equal(ix.Key.Value(), key.Value(), nil) {
				out = append(out, ix)
			}
		}
		switch {
		case len(out) == 0:
			return nil, mongoerr.New(mongoerr.IndexNotFound, "can't find index with key: %s", shown(key))
		case len(out) > 1:
			return nil, mongoerr.New(mongoerr.AmbiguousIndexKeyPattern, "%d indexes found for key: %s, identify by name instead. Conflicting indexes: %s, %s",
				len(out), shown(key), shown(out[0].Raw()), shown(out[1].Raw()))
		case out[0].ID == coll.IDIndex().ID:
			return nil, noID()
		}
		return out, nil
	}
	if len(names) == 1 && names[0] == "*" {
		return coll.Indexes[1:], nil
	}
	seen := map[string]bool{}
	for _, name := range names {
		ix := coll.Index(name)
		switch {
		case ix == nil || seen[name]:
			return nil, mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
		case ix.ID == coll.IDIndex().ID:
			return nil, noID()
		}
		seen[name] = true
		out = append(out, ix)
	}
	return out, nil
}
