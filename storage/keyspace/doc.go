// Package keyspace is the only code that knows how keys are laid out in a
// storage.Store.
//
//	meta    'm' ‖ kind(1) ‖ name or id                                              → BSON
//	record  'r' ‖ collection(8) ‖ position ‖ keystring(_id)                          → the document
//	entry   'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values) ‖ position ‖ keystring(_id) → type bits, or one zero byte
//	unique  'i' ‖ collection(8) ‖ index(4) ‖ partition(4) ‖ keystring(values)        → position ‖ keystring(_id) ‖ type bits
//
// Numbers are big-endian and never reused, so dropping a collection or an index
// is Store.DeleteRange of one or two ranges here, and a rename touches only meta
// keys. Engines keep their own keys (change log, format) below 0x01 and above
// 0xFE, where no key of this package lies.
//
// A position is the place of a document on its collection's line and the only
// thing a shard's bounds speak of. Hashed positions have eight bytes and are the
// type Hash. Ranged shard keys will use the keystring of the shard key values in
// the same place: also self-delimiting, so Append* need only a variant that takes
// the bytes, and the Split functions a skipper for them; prefixes, ranges over
// whole collections and PrefixEnd stay as they are.
//
// A record key does not name the shard: a split moves no record. Entries belong
// to a shard through their partition, and carry the position so that a reader
// can tell from the key alone whose entry it is.
//
// Values, ids and bounds come in as keystrings: prefix-free, self-delimiting,
// and starting with a byte in 0x05..0xF0. This package does not decode them;
// where it must find the end of one it takes a Skipper.
package keyspace
