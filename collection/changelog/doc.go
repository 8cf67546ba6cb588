// Package changelog is the record of committed writes, like the oplog. Change streams read it,
// local.oplog.rs shows it, the counters of shards are rebuilt from it after a crash, and reads in
// the past revert it.
//
// A Record is appended to the writing transaction and so becomes durable and visible together with
// the write. The store assigns its place: all records of one commit share the commit's timestamp
// and keep their order. Each also has a timestamp of its own, under which the oplog and change
// events show it. All are in one stream, Stream; a reader of one collection or one shard skips the
// rest, which costs a few nanoseconds per record because the header contains the collection.
//
// Format of a record, version 1:
//
//	version(1) op(1) flags(1) collection(8) position(8) bytes varint
//	uvarint len, keystring(_id)        operations on documents
//	uvarint len, document              flagKey: _id and shard key
//	uvarint len, document              flagDoc: new document, or the DDL document
//	uvarint len, document              flagDelta: what an update changed
//	uvarint len, document              flagPre: the document before
//	uvarint len, undo                  flagUndo: the way back to it; see AppendUndo
//	16 bytes session id, varint number flagTxn
//	32 bytes owner of the session      flagMulti
//	varint milliseconds since 1970     flagWall
//	varint statement                   flagTxn without flagMulti
//	32 bytes owner of the session      there too, if it is a user
//
// bytes is the growth of the documents of the position's shard.
package changelog
