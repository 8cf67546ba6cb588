// Package catalog keeps the databases, collections, views, indexes and shard
// maps: durable in the store, and in memory as immutable snapshots.
//
//	Pin ──► Snapshot (read without locks), one entry held ──► Unpin
//	Change ─► Mutation ─► one commit of meta keys ─► publish the next Snapshot
//	Drain ──► wait until nobody holds an older entry of one collection
//
// A writer pins the entry it goes by until it has committed. A reader pins nothing: it
// looks, once its snapshot of the store is open, whether its entries are still current. A
// transaction pins only while a statement or its commit runs, and each of these looks
// whether the entries it went by before still hold. A change that writers must agree on
// before it is relied upon (a split, a new index) is published first and drained then:
// after Drain every writer of that collection goes by it. Nobody waits for writers of
// another.
//
// Invariants: a Snapshot and everything reachable from it never changes; ids of
// collections and indexes are never given twice; what is published is durable.
//
// Glossary. Pin: hold an entry of a snapshot. Publish: make a new snapshot current. Drain:
// wait out old pins. View definition: a named pipeline over another namespace.
package catalog
