// Package shard maps a collection's line of positions to shards: it computes the position of a document, and finds the
// shard that owns the position.
//
//	document ──KeyPattern──► position ──Map──► Descriptor (shard: id, bounds, index partitions)
//
// The shard key gives every document a position, ordered bytes that code above treats as opaque. Three ways to compute
// it: hashed, eight bytes of xxhash64; hierarchical, hashes of two or three fields side by side, so that a prefix of
// the fields is a contiguous range; ranged, the keystrings of the values. A suffix behind hashed fields spreads the
// documents of one value over buckets (suffix.go). An unsharded collection has no key and keeps every document at
// position zero of its only shard.
//
// A Map is immutable: Split, Merge, Settle and Move return the next one, with the next minor version, or the next
// epoch if Move may reuse an ID. Records do not name their shard, so a split moves none of them; index entries belong
// to a shard through partitions:
//
//	split    A [p0]                 →  B [p0]   C [p0 p1]     new entries of C go to p1, reads look into both
//	settle   C [p0 p1]              →  C [p1]                 after C's entries have been moved out of p0
//	merge    B [p0]  C [p1]         →  D [p0 p1]              and settle again
//
// Invariants, which Map.Check verifies: shards cover the line without gap or overlap, in order; ids are unique, and
// ids and partition numbers are below the next new ones; no two shards write their entries to the same partition.
//
// Glossary. Position: place of a document on its collection's line. Shard: a range of positions with a share of the
// RU/s (Cosmos DB: physical partition). Logical partition: all documents of one shard key value, or of one bucket of it
// where the key has a suffix. Partition: generation of index entries. Epoch: the life of one shard key; a reshard
// begins a new one. Minor: counts the changes within.
package shard
