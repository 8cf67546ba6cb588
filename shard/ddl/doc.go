// Package ddl is the room of data definition: it makes, changes and drops
// databases, collections, views, indexes, shard keys, zones and throughput.
//
//	wire/command ──► Definer.Create, CollMod, CreateIndexes, ShardCollection, …
//	                    │ check the arguments against the catalog
//	                    │ one catalog change, with its change-log record
//	                    ├──► jobs.Runner   what takes long: build, rewrite, split, delete
//	                    └──► cluster       what reads or writes documents: copies, samples
//	cluster ──cluster.Definer──► CreateMissing, CreateTemporary, Replace, Drop, CommitMade
//
// The data plane does not know this package; it knows the five methods of
// cluster.Definer, which the wiring gives it with Cluster.AttachDefiner: writes
// make the collections they miss, $out fills one and puts it in place of
// another, and a transaction publishes what it made when it commits.
//
// Invariants: a command takes effect in one catalog change or, where documents
// have to be rewritten, in the last one of a job, so that a crash leaves what was
// or what is wanted; the change-log record of a command is part of the change
// that it tells of. What a crash leaves half filled is a temporary collection,
// which the next start drops. Errors are returned as they arise; wire/command
// translates those of the store and of budgets.
//
// Glossary. Implicit: made because a write needs it. Made: by an open transaction,
// and known to nobody else yet. Temporary: a collection that will take the place
// of another. Redistribute: give shards unequal parts of a collection's RU/s.
// Migrate: change between manual throughput and autoscale.
package ddl
