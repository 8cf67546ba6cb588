// Package catalog keeps the databases, collections, views, indexes and shard
// maps: durable in the store, and in memory as immutable snapshots.
//
//	Pin ──► Snapshot (read without locks), one entry held ──► Unpin
//	Change ─► Mutation ─► one commit of meta keys ─► publish the next Snapshot
//	Drain ──► wait until no writer holds an older entry of one collection
//
// A writer pins the catalog entry that it uses until it has committed. A reader pins nothing: once its snapshot of
// the store is open, it checks that its entries are still current. A transaction pins only while a statement or its
// commit runs, and each of these checks that the entries used before still hold. A change on which all writers must
// agree before it is relied upon (a split, a new index) is first published and then drained: after Drain every writer
// of that collection uses it. Drain does not wait for this server's writers of other collections.
//
// Several servers over one store follow each other's changes with a protocol like the online
// schema change of F1 and TiDB (sync.go). A server that has the store exclusively is a cluster of one.
//
// Invariants: a Snapshot and everything reachable from it never changes; ids of collections and indexes are never
// reused; what is published is committed (durable once Change returns), or a freeze (undetermined.go).
//
// Glossary. Pin: hold an entry of a snapshot. Publish: make a new snapshot current. Drain:
// wait until old pins are released. View definition: a named pipeline over another namespace.
package catalog
