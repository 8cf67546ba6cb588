// Package keyspace is the only code that knows how keys are laid out in a
// storage.Store.
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
// id is the keystring of _id; under a ranged shard key those of the key's values
// stand before it, and the hash is zero. The position of a document is what its
// shard key decides of hash and id: its place on the collection's line, and all
// that a shard's bounds speak of. So a shard is a range of record keys, whatever
// the key's kind.
//
// A record key does not name the shard: a split moves no record. Entries belong
// to a shard through their partition, and carry the position so that a reader
// can tell from the key alone whose entry it is.
//
// Values, ids and bounds come in as keystrings: prefix-free, self-delimiting,
// and starting with a byte in 0x05..0xF0. This package does not decode them;
// where it must find the end of one it takes a Skipper.
package keyspace
