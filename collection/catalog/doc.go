// Package catalog keeps the databases, collections, views, indexes and shard
// maps: durable in the store, and in memory as immutable snapshots.
//
//	Pin ──► Snapshot (read without locks) ──► Unpin
//	Change ─► Mutation ─► one commit of meta keys ─► publish the next Snapshot
//	Drain ──► wait until nobody holds an older Snapshot
//
// A command or transaction pins one Snapshot for its whole life. A change that
// writers must agree on before it is relied upon (a split, a new index) is
// published first and drained then: after Drain every command that still runs
// has seen it. At most two versions of a collection are ever in use.
//
// Invariants: a Snapshot and everything reachable from it never changes; ids of
// collections and indexes are never given twice; what is published is durable.
//
// Glossary. Pin: hold a snapshot. Publish: make a new snapshot current. Drain:
// wait out old pins. View definition: a named pipeline over another namespace.
package catalog
