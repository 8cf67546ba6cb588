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
// Format of a record, version 1; the fields follow each other in this order, integers are big-endian:
//
//	field        encoding                         present                   meaning
//	version      1 byte                           always                    1
//	op           1 byte                           always                    see Op
//	flags        1 byte                           always                    which of the fields below are present
//	collection   8 bytes                          always
//	position     8 bytes                          always                    hash in the position of the document
//	bytes        varint                           always                    growth of the documents of the position's shard
//	id           uvarint length, keystring        always                    _id; empty for Command and Moved
//	key          uvarint length, BSON             flagKey                   _id and shard key
//	document     uvarint length, BSON             flagDoc                   new document, or the DDL document
//	delta        uvarint length, BSON             flagDelta                 changes of an update
//	pre-image    uvarint length, BSON             flagPre                   the document before
//	undo         uvarint length, bytes            flagUndo                  difference to it; see AppendUndo
//	session      16 bytes, then number, varint    flagTxn                   of the transaction or retryable write
//	owner        32 bytes                         flagMulti                 digest of the session's user
//	wall         varint                           flagWall                  milliseconds since 1970
//	statement    varint                           flagTxn, not flagMulti    number within the retryable write
//	owner        32 bytes                         flagTxn, not flagMulti    as above; absent if the client had not logged in
package changelog
