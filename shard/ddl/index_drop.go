package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// DropIndexes removes indexes: those with the given names, if names is just "*" all except _id_ and, without a Cosmos
// account, those that serve a ranged shard key, or those with the given key pattern if it is not nil. It returns the
// number of indexes before.
// Manual: reference/command/dropIndexes. Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166),
// IllegalOperation (20), IndexNotFound (27), InvalidOptions (72), AmbiguousIndexKeyPattern (181).
func (d *Definer) DropIndexes(o *cluster.Op, ns collection.Namespace, names []string, key bson.Raw) (was int, err error) {
	if err := noTxn(o, ns.DB, "dropIndexes"); err != nil {
		return 0, err
	}
	if err := d.waitForTxns(o, ns); err != nil {
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
		was = len(coll.UnstagedIndexes())
		gone, err := indexesToDrop(coll, names, key, o.Env.Release.Has(release.DropsKnownIndexes))
		if err == nil && !o.Env.Strict() {
			gone, err = keepServing(coll, gone, len(names) == 1 && names[0] == "*")
		}
		if err != nil || len(gone) == 0 {
			return err
		}
		next, err := dropIndexes(o, m, coll, gone)
		if err != nil {
			return err
		}
		return m.Put(next)
	})
	d.Jobs.WakeDelete()
	return was, err
}

// dropIndexes removes indexes from the entry of a collection, inside a catalog change, and appends their records to
// the change log.
func dropIndexes(o *cluster.Op, m *catalog.Mutation, coll *catalog.Collection, gone []*catalog.Index) (*catalog.Collection, error) {
	next := coll
	for _, ix := range gone {
		next = next.WithoutIndex(ix.ID)
		if err := jobs.Delete(m, coll.ID, ix.ID); err != nil {
			return nil, err
		}
		err := logCommand(o, m.Txn(), coll.Namespace.DB, coll, func(b *bson.Builder) { b.Splice(ix.Raw().Elements()) }, func(b *bson.Builder) {
			b.String("dropIndexes", coll.Namespace.Coll)
			b.String("index", ix.Name)
		})
		if err != nil {
			return nil, err
		}
	}
	return next, nil
}

// keepServing protects the indexes that serve the ranged shard key of a collection: reads by the key use them. With
// all, it returns the indexes to drop without those; otherwise it returns an error if gone contains the last of them.
// Manual: core/sharding-shard-key-indexes. Errors: IllegalOperation (20).
func keepServing(coll *catalog.Collection, gone []*catalog.Index, all bool) ([]*catalog.Index, error) {
	if !needsServingIndex(coll) {
		return gone, nil
	}
	if all {
		return slices.DeleteFunc(slices.Clone(gone), func(ix *catalog.Index) bool { return serves(ix, coll.Key) }), nil
	}
	return gone, checkServed(coll, gone, "drop")
}

// needsServingIndex reports whether the shard key of a collection must have an index that serves it. A key on _id or
// with a hashed field need not. Manual: core/sharding-shard-key-indexes.
func needsServingIndex(coll *catalog.Collection) bool {
	return coll.Sharded() && coll.Key.Kind() == shard.Ranged && !coll.Key.IsID() &&
		!slices.ContainsFunc(coll.Key.Fields(), func(f shard.Field) bool { return f.Hashed })
}

// checkServed returns an error if gone, the indexes to drop or to hide, contains the last visible indexes that serve
// the shard key.
// Errors: IllegalOperation (20).
func checkServed(coll *catalog.Collection, gone []*catalog.Index, verb string) error {
	var last *catalog.Index
	for _, ix := range coll.Indexes {
		switch {
		case !serves(ix, coll.Key):
		case slices.Contains(gone, ix):
			last = ix
		case !ix.Hidden:
			return nil
		}
	}
	if last == nil {
		return nil
	}
	return mongoerr.New(mongoerr.IllegalOperation, "Cannot %s the only compatible index for this collection's shard key: %s", verb, last.Name)
}

// indexesToDrop returns the indexes to drop. With known, names and keys that no index has are left out.
func indexesToDrop(coll *catalog.Collection, names []string, key bson.Raw, known bool) (out []*catalog.Index, err error) {
	noID := func() error { return mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index") }
	if key != nil {
		for _, ix := range coll.UnstagedIndexes() {
			if bson.Equal(ix.Key.Value(), key.Value(), nil) {
				out = append(out, ix)
			}
		}
		switch {
		case len(out) == 0 && known:
			return nil, nil
		case len(out) == 0:
			return nil, mongoerr.New(mongoerr.IndexNotFound, "can't find index with key: %s", docText(key))
		case len(out) > 1:
			return nil, mongoerr.New(mongoerr.AmbiguousIndexKeyPattern, "%d indexes found for key: %s, identify by name instead. Conflicting indexes: %s, %s",
				len(out), docText(key), docText(out[0].Raw()), docText(out[1].Raw()))
		case out[0].ID == coll.IDIndex().ID:
			return nil, noID()
		}
		return out, nil
	}
	if len(names) == 1 && names[0] == "*" {
		return coll.UnstagedIndexes()[1:], nil
	}
	seen := map[string]bool{}
	for _, name := range names {
		ix := coll.Index(name)
		switch {
		case ix == nil || seen[name]:
			if !known {
				return nil, mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
			}
			continue
		case ix.ID == coll.IDIndex().ID:
			return nil, noID()
		}
		seen[name] = true
		out = append(out, ix)
	}
	return out, nil
}
