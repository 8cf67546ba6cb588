// Package backup keeps copies of a store's files in a folder, together with all writes since
// the first copy, so that the store can be restored to any moment in between.
//
//	server ── Take ──► a base: the tables that are not there yet, manifest, logs
//	       ── Ship ──► a segment: every write since the previous segment
//	folder ── Restore(moment) ──► the newest base before it, and a replay of the writes up to it
//
// A restored store is in the state after a kill at that moment, from which a server can
// recover: documents, indexes, the catalog, dropped collections, splits and reshards in
// progress are all as they were. This relies only on the store's order of writes.
//
//	DIR/CANTLE-BACKUP          identifies the folder
//	DIR/LOCK                   held while a process writes
//	DIR/<timeline>/tables/     immutable tables, shared by the bases
//	DIR/<timeline>/base-<n>.unfinished   exists while base <n> is made or deleted
//	DIR/<timeline>/base-<n>/   manifest and logs of one base; backup.json, written last, lists all its files
//	DIR/<timeline>/log/        segments, named by their first and last sequence numbers
//
// Terms. Timeline: the life of one data folder; a folder that was restored, copied or created
// again gets another one, because its tables and sequence numbers may differ under the same
// names. Chain: segments without a gap. Moment: a timestamp; the state at it has all commits up
// to it.
package backup
