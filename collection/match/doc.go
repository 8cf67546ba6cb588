// Package match is the filter language: it parses a filter once per command into a tree of nodes and
// matches raw documents against it.
//
//	BSON ── Parse ──► Node ── Normalize ──► Node ── Matches(env, doc, scratch)
//	                   │                     ├── Bounds   intervals for the planner
//	                   │                     ├── Shape    plan-cache key
//	                   └── Append            └── Points, Equalities   shard targeting, upsert
//
// Nodes are immutable and safe for concurrent use. Strings compare by the collation that env had when
// the filter was parsed, so that validators and partial indexes keep their collation and ignore the
// collation of the command.
//
// Operators is the table of all operators in alphabetical order; a row points to its parse function. An operator on a
// field is a predicate on one value; a Leaf applies it to every value that the path reaches. The names of most
// operators' files begin with the family of the operator.
//
// Glossary. Leaf: path and predicate. Predicate: a condition on one value. Interval: a range of index
// keys. Exact: every key inside the intervals belongs to a document that matches. Shape: the filter
// without its values.
//
// Source of the behaviour: Manual: reference/operator/query; error codes as observed on MongoDB.
package match
