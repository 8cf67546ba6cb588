package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// logCommand appends the change-log record of a DDL command to its change:
//
//	{ns: "db.$cmd", ui: UUID, view: true, series: true, o: {create: "c", …}}
//
// in the shape of an oplog "c" entry; view is ours, as is series, which says that
// it is no view but a time-series collection. body writes the fields of o.
func logCommand(o *cluster.Op, m *catalog.Mutation, db string, coll *catalog.Collection, body func(b *bson.Builder)) error {
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
func logCommandOn(o *cluster.Op, m *catalog.Mutation, db string, coll *catalog.Collection, o2, body func(b *bson.Builder)) error {
	return appendCommand(o, m.Txn(), db, coll, o2, body)
}

// appendCommand is logCommandOn for any transaction of the store.
func appendCommand(o *cluster.Op, txn storage.Txn, db string, coll *catalog.Collection, o2, body func(b *bson.Builder)) error {
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
