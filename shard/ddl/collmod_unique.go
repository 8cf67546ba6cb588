package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage/keyspace"
)

// makeUnique runs a CollMod that converts an index to a unique one. Entries of unique indexes have other keys, so a
// staged index is built beside the old one, which serves readers and, with prepareUnique, rejects duplicates
// meanwhile. Then one change of the catalog replaces the old index with the staged one and makes the other changes of
// the command. Before that change, and after an error or a crash, nothing has changed for clients.
// Manual: core/index-unique/convert-to-unique.
// Errors: DuplicateKey (11000), the errors of CollMod, of Runner.LockNamed, of unique indexes and of builds.
func (d *Definer) makeUnique(o *cluster.Op, ns collection.Namespace, mod CollMod) (r CollModResult, err error) {
	ctx := o.Env.Context()
	coll, unlock, err := d.Jobs.LockNamed(ctx, ns)
	if err != nil {
		return r, err
	}
	defer unlock()
	if err := d.data.CheckExpected(o); err != nil {
		return r, err
	}
	id := coll.ID
	build := &jobs.Build{Collection: id}
	var old *catalog.Index // the index to convert, as it was at the beginning
	err = d.catalog.ChangeSoon(ctx, func(m *catalog.Mutation) error {
		coll, err := locked(m, ns, id)
		if err != nil {
			return err
		}
		if coll, err = jobs.DropStaged(m, coll); err != nil {
			return err
		}
		if _, r, err = modIndex(o, coll, mod); err != nil {
			return err
		}
		old = r.Before
		if len(mod.Options) > 0 { // rejected before the build, not after it
			if _, err := modOptions(o, coll, mod.Options); err != nil {
				return err
			}
		}
		spec, err := uniqueSpec(o, old)
		if err != nil {
			return err
		}
		if err := checkUnique(o, coll, spec); err != nil {
			return err
		}
		if err := checkIndexStrict(o, coll, spec, d.tally.Of(id).Total(coll.Map).Docs); err != nil {
			return err
		}
		build.Namespace, build.Indexes = coll.Namespace, append(build.Indexes[:0], coll.NextIndex)
		build.Command = collModCommand(ns, old)
		return m.Put(withNewIndex(coll, stagedIndex(spec)))
	})
	if err != nil {
		return r, err
	}
	build.Finish = func(m *catalog.Mutation, coll *catalog.Collection) (*catalog.Collection, error) {
		built := numbered(coll, build.Indexes)[0]
		coll = coll.WithoutIndex(built.ID)
		if len(numbered(coll, []keyspace.IndexID{old.ID})) == 0 {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "the index %s of %s was dropped while it was made unique", old.Name, coll.Namespace)
		}
		next, done, err := modIndex(o, coll, mod)
		if err != nil {
			return nil, err
		}
		spec, err := uniqueSpec(o, done.After) // with options that other commands set meanwhile
		if err != nil {
			return nil, err
		}
		r = CollModResult{done.Before, &catalog.Index{Spec: spec, ID: built.ID, State: built.State, Multikey: built.Multikey}}
		next = next.WithIndexFor(old.ID, r.After)
		if err := jobs.Delete(m, coll.ID, old.ID); err != nil {
			return nil, err
		}
		if len(mod.Options) > 0 {
			if next, err = modOptions(o, next, mod.Options); err != nil {
				return nil, err
			}
		}
		return next, logCollMod(o, m.Txn(), coll, next, mod, r)
	}
	if err := d.Jobs.BuildIndexes(ctx, build); err != nil {
		return CollModResult{}, err
	}
	d.committed(o)
	return r, nil
}

// locked returns, inside a catalog change, the present entry of a collection that a command has locked.
// Errors: NamespaceNotFound (26) if it was dropped or renamed.
func locked(m *catalog.Mutation, ns collection.Namespace, id keyspace.CollectionID) (*catalog.Collection, error) {
	coll := m.Snapshot().ByID(id)
	if coll == nil || coll.Namespace != ns {
		return nil, mongoerr.NoNamespace(ns.String())
	}
	return coll, nil
}

// stagedIndex returns an index in state Building that clients do not see: a command builds it first, and shows it
// together with its other changes.
func stagedIndex(spec *index.Spec) *catalog.Index {
	return &catalog.Index{Spec: spec, State: catalog.IndexBuilding, Staged: true}
}

// uniqueSpec returns the specification of ix, but unique.
func uniqueSpec(o *cluster.Op, ix *catalog.Index) (*index.Spec, error) {
	b := bson.NewBuilder(nil)
	for it := ix.Raw().Iter(); it.Next(); {
		switch string(it.Name) {
		case "prepareUnique", "unique":
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.Bool("unique", true)
	return index.ParseStoredSpec(o.Env, b.Doc(), ix.Collation.Version())
}

// collModCommand returns the command for currentOp.
func collModCommand(ns collection.Namespace, ix *catalog.Index) bson.Raw {
	return commandDoc(func(b *bson.Builder) {
		b.String("collMod", ns.Coll)
		b.BeginDoc("index")
		b.String("name", ix.Name)
		b.Bool("unique", true)
		b.End()
		b.String("$db", ns.DB)
	})
}
