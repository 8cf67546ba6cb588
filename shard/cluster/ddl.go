package cluster

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// alter runs one catalog change of a command and notes its durability.
func (c *Cluster) alter(o *Op, fn func(m *catalog.Mutation) error) error {
	err := c.Catalog.Change(o.Env.Context(), fn)
	if err == nil {
		o.Committed = max(o.Committed, c.Store.Latest())
	}
	return err
}

// logCommand appends the change-log record of a DDL command to its change:
//
//	{ns: "db.$cmd", ui: UUID, view: true, series: true, o: {create: "c", …}}
//
// in the shape of an oplog "c" entry; view is ours, as is series, which says that
// it is no view but a time-series collection. body writes the fields of o.
func logCommand(o *Op, m *catalog.Mutation, db string, coll *catalog.Collection, body func(b *bson.Builder)) error {
	return logCommandOn(o, m, db, coll, nil, body)
}

// ended writes, as the o2 of a command that ends an entry, what readers of older
// records need to know of it: {collection: number, shardKey: {…}}. nil writes
// nothing.
func ended(was *catalog.Collection) func(b *bson.Builder) {
	if was == nil || was.IsView() {
		return nil
	}
	return func(b *bson.Builder) {
		b.Int64("collection", int64(was.ID))
		if was.Sharded() {
			b.Raw("shardKey", was.Key.Spec())
		}
	}
}

// logCommandOn is logCommand with a document o2 about the state before, nil for
// none.
func logCommandOn(o *Op, m *catalog.Mutation, db string, coll *catalog.Collection, o2, body func(b *bson.Builder)) error {
	return appendCommand(o, m.Txn(), db, coll, o2, body)
}

// appendCommand is logCommandOn for any transaction of the store.
func appendCommand(o *Op, txn storage.Txn, db string, coll *catalog.Collection, o2, body func(b *bson.Builder)) error {
	b := bson.NewBuilder(nil)
	b.String("ns", db+".$cmd")
	id := keyspace.CollectionID(0)
	if coll != nil {
		id = coll.ID
		b.Binary("ui", 4, coll.UUID[:])
		if series := coll.Options.TimeSeries != nil; series || coll.IsView() {
			b.Bool("view", true)
			if series {
				b.Bool("series", true)
			}
		}
	}
	b.BeginDoc("o")
	body(b)
	b.End()
	if o2 != nil {
		b.BeginDoc("o2")
		o2(b)
		b.End()
	}
	rec := changelog.Record{Op: changelog.Command, Collection: id, Doc: b.Doc(), Wall: o.Env.NowMillis}
	if o.Txn != nil {
		rec.Multi, rec.Session, rec.TxnNumber, rec.Owner = true, o.Session, o.TxnNumber, o.Owner
	}
	enc := rec.Append(nil)
	if err := txn.AppendLog(changelog.Commands, enc); err != nil {
		return err
	}
	return txn.AppendLog(changelog.Stream, enc)
}

// Limits on names. Manual: reference/limits#naming-restrictions.
const (
	namespaceBytesMax = 255
	databaseBytesMax  = 63
)

// CheckNamespace refuses names that no collection may have.
// Manual: reference/limits#naming-restrictions. Errors: InvalidNamespace (73).
func CheckNamespace(ns collection.Namespace) error {
	if err := CheckDatabase(ns.DB); err != nil {
		return err
	}
	switch {
	case ns.Coll == "":
		return mongoerr.BadNamespace(ns.DB + ".")
	case strings.ContainsRune(ns.Coll, 0):
		return mongoerr.New(mongoerr.InvalidNamespace, "namespaces cannot have embedded null characters")
	case ns.Coll[0] == '.':
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", ns.Coll)
	case strings.ContainsRune(ns.Coll, '$'):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", ns.Coll)
	case len(ns.String()) > namespaceBytesMax:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns, namespaceBytesMax)
	}
	return nil
}

// CheckDatabase refuses names that no database may have.
// Manual: reference/limits#naming-restrictions. Errors: InvalidNamespace (73).
func CheckDatabase(db string) error {
	if db == "" || len(db) > databaseBytesMax || strings.ContainsAny(db, "/\\. \"$\x00") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// noTxn refuses DDL that cannot be part of a transaction.
func noTxn(o *Op, what string) error {
	if o.Txn == nil {
		return nil
	}
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run '%s' in a multi-document transaction.", what)
}

// dropped forgets what was kept about collections that are gone, and has their
// keys removed.
func (c *Cluster) dropped(colls ...*catalog.Collection) {
	for _, d := range colls {
		c.Budgets.Drop(uint64(d.ID))
		c.Tally.Drop(d.ID)
		c.lines.Delete(d.ID)
		c.Uses.drop(d.ID)
		c.Dropped(d.Namespace)
	}
	c.Jobs.DeleteSoon()
}

// dropIn removes a collection inside a change.
func dropIn(m *catalog.Mutation, coll *catalog.Collection) error {
	m.Drop(coll)
	if coll.IsView() {
		return nil
	}
	return jobs.Delete(m, coll.ID, 0)
}
