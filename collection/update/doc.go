// Package update is the update language: it parses an update once per command into a Program and applies
// it to raw documents.
//
//	{$set: …, $inc: …}  operators   ─┐
//	{a: 1, b: 2}        replacement  ├─ Parse ──►  *Program ── Apply(doc) ──►  new document
//	[{$set: …}, …]      pipeline    ─┘                    └── Upsert(filter) ──►  document to insert
//
// Operators are stored as one tree over all paths of the update: a node per path component, and an
// action at each end. Apply walks the document and the tree together and copies everything between the
// touched fields as runs of bytes. The tree also detects conflicts: no path may begin with another.
//
// A node's children are in the order in which new fields are created: array positions by number, then
// names by their bytes.
//
// Operators is the table. The names of most operators' files begin with the family of the operator.
//
// Glossary. Action: the effect of an operator at the end of a path, from old value to new value. Viable:
// a path that leads only through documents and array positions. Delta: the changes of an update, as a
// change stream reports them.
//
// Source of the behaviour: Manual: reference/operator/update; error codes as observed on MongoDB.
package update
