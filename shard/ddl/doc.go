// Package ddl holds the data definition commands: it creates, changes and drops databases,
// collections, views, indexes, shard keys, zones and throughput.
//
//	wire/command ──► Definer.Create, CollMod, CreateIndexes, ShardCollection, …
//	                    │ check the arguments against the catalog
//	                    │ one catalog change, with its change-log record
//	                    ├──► jobs.Runner   what takes long: build, rewrite, split, delete
//	                    └──► cluster       what reads or writes documents: copies, samples
//	cluster ──cluster.Definer──► CreateMissing, CreateTemporary, Replace, Drop, ExpireDue, CommitCreated
//
// The data plane does not import this package. It uses the interface cluster.Definer, which the
// wiring passes to Cluster.AttachDefiner: writes create missing collections, $out fills a
// collection and puts it in place of another, and a transaction publishes the collections that it
// created when it commits.
//
// Invariants: a command takes effect in one catalog change or, where documents have to be rewritten or indexed, in
// the last change of a job, so that after a crash either the old or the new definition holds; the change-log record
// of a command is part of the change that it describes. If a crash leaves a collection half filled, it is a temporary
// collection, which the next start or a peer drops. Errors are returned unchanged; wire/command translates those of
// the store and of budgets.
//
// Glossary. Implicit: created because a write needs it. Made: created by an open transaction, and
// not visible outside yet. Temporary: a collection that gets its name when it is filled.
// Redistribute: give shards unequal parts of a collection's RU/s. Migrate: change between manual
// throughput and autoscale.
package ddl
