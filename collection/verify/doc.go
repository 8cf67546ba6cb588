// Package verify checks a collection's stored data: records and index entries, each against the other, and
// the places of records in shards. It only reads.
//
//	Check     one collection: every record and every entry, in both directions
//	Parts     the contents of a damaged part of a file: whose data, between which keys
//	Sentence  the consequences of a damage, for operators
//
// The validate command and cantle check use the same code. A reader that finds a damaged part of a
// file continues after it.
package verify
