// Package keyspace defines the layout of keys in a storage.Store. No other package
// builds or splits keys.
//
//	meta    'm' ‖ kind(1) ‖ name or id                                              → mostly BSON
//	record  'r' ‖ collection(8) ‖ hash(8) ‖ id                                       → the document
//	entry   'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values) ‖ hash(8) ‖ id → type bits, or one zero byte
//	unique  'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values)        → hash(8) ‖ id ‖ type bits
//
// Numbers are big-endian and never reused, so dropping a collection or an index
// is Store.DeleteRange of one or two ranges here, and a rename touches only meta
// keys. Engines keep their own keys (change log, format) below 0x01 and above
// 0xFE, where no key of this package lies.
//
// A keystring is an encoding of a value whose bytes sort as the values do. id is the keystring of _id; under a ranged
// shard key it follows the keystrings of the shard key's values. There and without a shard key the hash is zero. The
// position of a document is the part of hash and id that its shard key determines: by it documents are ordered and
// divided into shards. The bounds of a shard are positions, so a shard is a range of record keys, whatever the kind
// of its shard key.
//
// A record key does not contain the number of its shard: so a split moves no record. Index entries belong to a
// shard through their partition. They contain the position, unique ones in the value, so that a reader can find
// the shard of an entry without its document.
//
// Callers pass values, ids and bounds as keystrings, each of which has a recognizable end and begins with a byte
// in 0x05..0xF0. This package does not decode them. If it must find the end of a keystring, its caller passes a
// Skipper.
package keyspace
