// Package verify checks the consistency of stored data: records, index entries, counts, shard maps
// and the change log, each against the others. It only reads.
//
//	Check     one collection: every record and every entry, in both directions
//	Store     all collections, and what lies beside them
//	Describe  what a damaged file means: whose data, between which keys
//
// The validate command and cantle check use the same code. A reader that finds a damaged part of a
// file continues after it.
package verify
