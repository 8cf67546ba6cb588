// Package keyspace defines the layout of keys in a storage.Store. No other package
// builds or splits keys.
//
//	meta    'm' ‖ kind(1) ‖ name or id                                              → BSON
//	record  'r' ‖ collection(8) ‖ hash(8) ‖ id                                       → the document
//	entry   'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values) ‖ hash(8) ‖ id → type bits, or one zero byte
//	unique  'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values)        → hash(8) ‖ id ‖ type bits
//
// Numbers are big-endian and never reused, so dropping a collection or an index
// is Store.DeleteRange of one or two ranges here, and a rename touches only meta
// keys. Engines keep their own keys (change log, format) below 0x01 and above
// 0xFE, where no key of this package lies.
//
// id is the keystring of _id; under a ranged shard key it follows the keystrings
// of the shard key's values, and the hash is zero. The position of a document is
// the part of hash and id that its shard key determines: its place on the
// collection's line. The bounds of a shard are positions, so a shard is a range of
// record keys, whatever the kind of its shard key.
//
// A record key does not name the shard: a split moves no record. Entries belong
// to a shard through their partition. They carry the position, so that a reader
// can find the owner of an entry from its key alone.
//
// Values, ids and bounds are passed as keystrings: prefix-free, self-delimiting,
// and starting with a byte in 0x05..0xF0. This package does not decode them; if it
// must find the end of one, its caller passes a Skipper.
package keyspace
