package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// logCommand appends the change-log record of a DDL command to the transaction of its
// change:
//
//	{ns: "db.$cmd", ui: UUID, view: true, series: true, o: {create: "c", …}, o2: {…}}
//
// in the form of an oplog "c" entry. view and series are ours; series marks a time-series
// collection instead of a view. body writes the fields of o; before, unless it is nil, those of o2,
// the state before the command.
func logCommand(o *cluster.Op, txn storage.Txn, db string, coll *catalog.Collection, before, body func(b *bson.Builder)) error {
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
	if before != nil {
		b.BeginDoc("o2")
		before(b)
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

// oldStateWriter returns a function for the log record of a command that ends a catalog entry, such as drop. It
// writes the facts of that entry which readers of older records need: {collection: number, shardKey: {…}}. The result
// is nil if was is nil or a view.
func oldStateWriter(was *catalog.Collection) func(b *bson.Builder) {
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
