// Package backup keeps copies of a store's files in a folder, beside all that was written
// since the first of them, so that the store can be brought back to any moment in between.
//
//	server ── Take ──► a base: the tables that are not there yet, manifest, logs
//	       ── Ship ──► a segment: every write since the one before
//	folder ── Restore(moment) ──► the newest base before it, and the writes up to it, made again
//
// What is restored is the store as it would be after a kill at that moment, which a server
// knows how to go on from: documents, indexes, the catalog, dropped collections, splits and
// reshards under way are all as they were, and nothing but the store's own order of writes
// is relied upon.
//
//	DIR/CANTLE-BACKUP          says what the folder is
//	DIR/LOCK                   held by who writes
//	DIR/<timeline>/tables/     immutable tables, shared by the bases
//	DIR/<timeline>/base-<n>/   manifest and logs of one base; backup.json, written last, names all its files
//	DIR/<timeline>/log/        segments, named by the sequence numbers they reach from and to
//
// Glossary. Timeline: the life of one data folder; what was restored, copied or begun anew
// has another, as its tables and sequence numbers may be other ones under the same names.
// Chain: segments without a gap. Moment: a timestamp; the state at it has all commits up to it.
package backup
