// Package jobs is the background work of a server: index builds, changes of shard keys, splits and merges of shards,
// removal of dropped data, compaction, expiry of documents, truncation of the change log, and the durable counts of
// documents.
//
//	wire/command ─► shard/ddl ──────► Runner.BuildIndexes, Reshard, …   in the caller's goroutine
//	balance ────────────────────────► Runner.Split, Merge
//	Start ──► loops: delete ranges · expire · planned throughput · truncate · checkpoint · resume; with peers: publish · collect
//
// A job on which writers must agree goes in steps, each a catalog change: publish, drain, work in
// small transactions, publish. What a crash leaves behind is found in the catalog (shards with
// several partitions, indexes still building, rewritings) or under the meta keys of jobs (ranges to delete),
// and Start continues it. Every small transaction is idempotent and repeated when it conflicts with
// a writer.
//
// One job at a time works on the structure of a collection. The transactions of a job are charged to the collection
// in the background class, so that they use only what the clients leave, except in the last round of a Reshard;
// deletions that precede a client's command (ExpireDue) are free.
//
// Glossary. Settle: move index entries to a shard's newest partition. Resume:
// finish what a crash left. Checkpoint: counts of all shards at one timestamp.
package jobs
