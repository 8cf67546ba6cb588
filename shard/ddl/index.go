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

// IndexesCreated is the result of CreateIndexes.
type IndexesCreated struct {
	Before, After int    // number of indexes, _id_ included
	Created       bool   // the collection was created too
	Note          string // set if there was nothing to do
}

// CreateIndexes adds the indexes that do not exist yet, and builds them while the collection is in use. A missing
// collection is created.
// Manual: reference/command/createIndexes. Errors: the errors of index.ParseSpec and Spec.Conflict, CannotCreateIndex
// (67), DuplicateKey (11000), CommandNotSupportedOnView (166), NamespaceNotFound (26) if the collection is dropped
// meanwhile, the errors of Runner.LockNamed.
func (d *Definer) CreateIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (IndexesCreated, error) {
	if err := o.MayWrite(ns.DB); err != nil {
		return IndexesCreated{}, err
	}
	create, coll := d.createIndexes, d.catalog.Peek().Collection(ns)
	if o.Txn != nil {
		create, coll = d.createIndexesInTxn, o.Txn.Catalog.Collection(ns)
	}
	if err := checkDistinct(o, coll, specs); err != nil {
		return IndexesCreated{}, err
	}
	r, err := create(o, ns, specs)
	if err != nil {
		return IndexesCreated{}, err
	}
	if r.Before == r.After {
		r.Note = "all indexes already exist"
	}
	return r, nil
}

// checkDistinct rejects a specification that occurs twice, unless the collection, nil if it is missing, has the index.
// Errors: IndexAlreadyExists (68).
func checkDistinct(o *cluster.Op, coll *catalog.Collection, specs []bson.Raw) error {
	seen := map[string]bool{}
	for _, s := range specs {
		if !seen[string(s)] {
			seen[string(s)] = true
			continue
		}
		if coll != nil && !coll.IsView() {
			if have, err := haveIndexes(o, coll, []bson.Raw{s}); have || err != nil {
				return err
			}
		}
		return mongoerr.New(mongoerr.IndexAlreadyExists, "Identical index already exists: %s", docText(s))
	}
	return nil
}

// createIndexes is CreateIndexes outside of transactions.
func (d *Definer) createIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (IndexesCreated, error) {
	for {
		coll := d.catalog.Peek().Collection(ns)
		if coll == nil {
			made, err := d.createIndexed(o, ns, specs)
			if err != nil {
				return IndexesCreated{}, err
			}
			if made != nil {
				return IndexesCreated{Before: 1, After: len(made.Indexes), Created: true}, nil
			}
			continue // another command was faster
		}
		if coll.IsView() {
			return IndexesCreated{}, mongoerr.ViewNotAllowed(ns.String())
		}
		if ready, err := haveIndexes(o, coll, specs); ready || err != nil {
			return IndexesCreated{Before: len(coll.Indexes), After: len(coll.Indexes)}, err
		}
		return d.addIndexes(o, ns, specs)
	}
}

// createIndexed creates a collection together with its indexes. It returns nil if the collection exists already, or
// another command has created it without these indexes, or dropped it.
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
	for _, raw := range specs { // another creation may have been faster, without the indexes
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

// haveIndexes reports whether a collection has all the specified indexes and all its indexes are ready: then
// createIndexes need not wait for the collection's Lock.
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

// addIndexes publishes new indexes of a collection in state Building, runs their build, and waits for its end.
func (d *Definer) addIndexes(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (r IndexesCreated, err error) {
	if err := d.checkSpace(); err != nil {
		return IndexesCreated{}, err
	}
	if err := d.waitForTxns(o, ns); err != nil {
		return IndexesCreated{}, err
	}
	ctx := o.Env.Context()
	coll, unlock, err := d.Jobs.LockNamed(ctx, ns)
	if err != nil {
		return IndexesCreated{}, err
	}
	defer unlock()
	if err := d.data.CheckExpected(o); err != nil {
		return IndexesCreated{}, err
	}
	id := coll.ID
	build := &jobs.Build{Collection: id, Cap: o.Cap}
	// This change becomes durable together with the later one that makes the indexes ready. If a crash ends the build
	// before, the indexes may be missing.
	err = d.catalog.ChangeSoon(ctx, func(m *catalog.Mutation) error {
		was := m.Snapshot().ByID(id)
		coll := was
		if coll == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "the collection was dropped while its indexes were created")
		}
		if coll, err = jobs.DropStaged(m, coll); err != nil {
			return err
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
				coll = withNewIndex(coll, &catalog.Index{Spec: spec, State: catalog.IndexBuilding})
				added = append(added, spec)
			} else if ix := was.Index(spec.Name); ix != nil && ix.State == catalog.IndexBuilding && !slices.Contains(build.Indexes, ix.ID) {
				build.Indexes = append(build.Indexes, ix.ID) // of a dead server: a live builder would hold the lock
				added = append(added, spec)
				r.Before--
			}
		}
		if len(added) == 0 {
			if coll == was {
				return nil
			}
			return m.Put(coll)
		}
		r.After = len(coll.Indexes)
		build.Command = createIndexesCommand(coll.Namespace, added)
		made := build.Indexes
		build.Finish = func(m *catalog.Mutation, coll *catalog.Collection) (*catalog.Collection, error) {
			return coll, logIndexes(o, m.Txn(), coll, numbered(coll, made), docs > 0)
		}
		if coll == was {
			return nil
		}
		return m.Put(coll)
	})
	if err != nil || len(build.Indexes) == 0 {
		return r, err
	}
	if err := d.Jobs.BuildIndexes(ctx, build); err != nil {
		return IndexesCreated{}, err
	}
	d.committed(o)
	return r, nil
}

// createIndexesCommand returns the command for currentOp.
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

// numbered returns the indexes with the given numbers.
func numbered(coll *catalog.Collection, ids []keyspace.IndexID) (out []*catalog.Index) {
	for _, ix := range coll.Indexes {
		if slices.Contains(ids, ix.ID) {
			out = append(out, ix)
		}
	}
	return out
}

// logIndexes appends the records of new indexes to the change log: one record for all if they were built over
// documents, otherwise one for each.
// Manual: reference/change-events/createIndexes. Observed: local.oplog.rs of mongod 7.0.
func logIndexes(o *cluster.Op, txn storage.Txn, coll *catalog.Collection, indexes []*catalog.Index, built bool) error {
	if built {
		return logCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
			b.String("commitIndexBuild", coll.Namespace.Coll)
			id := bson.NewUUID()
			b.Binary("indexBuildUUID", 4, id[:])
			b.BeginArray("indexes")
			for _, ix := range indexes {
				b.Raw("", ix.Raw())
			}
			b.End()
		})
	}
	for _, s := range indexes {
		err := logCommand(o, txn, coll.Namespace.DB, coll, nil, func(b *bson.Builder) {
			b.String("createIndexes", coll.Namespace.Coll)
			s.Append(b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withNewIndex returns coll with an index added, under the next number.
func withNewIndex(coll *catalog.Collection, ix *catalog.Index) *catalog.Collection {
	ix.ID = coll.NextIndex
	d := coll.WithIndex(ix)
	d.NextIndex++
	return d
}
