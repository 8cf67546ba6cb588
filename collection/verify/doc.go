// Package verify finds out whether what is stored makes sense: records, index entries,
// counts, shard maps and the change log, each against the others. It only reads.
//
//	Check     one collection: every record and every entry, in both directions
//	Store     all collections, and what lies beside them
//	Describe  what a damaged file means: whose data, between which keys
//
// The validate command and cantle check are the same code. A reader that meets a damaged
// file goes on behind it.
package verify
