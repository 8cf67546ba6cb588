// Package changelog is the record of committed writes, the oplog's role: what
// change streams read, what local.oplog.rs shows, what the counters of shards are
// rebuilt from after a crash, and what reads at a time in the past take back.
//
// A Record is appended to the writing transaction and so becomes durable and
// visible together with the write. The store gives it its place: all records of
// one commit share the commit's timestamp and keep their order; each has one of its
// own beside it, at which oplog and change events show it. All are in one
// stream, Stream; a reader that wants one collection or one shard skips the
// rest, which costs a few nanoseconds per record because the header says it.
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
// bytes is by how much the documents of the position's shard grew.
package changelog
