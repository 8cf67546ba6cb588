// Package index holds index specifications and the generation of index keys.
//
//	{key: {a: 1}, name: "a_1", …} ── ParseSpec ──►  *Spec ──┬── Keys(doc)   entries of a document
//	                                                     ├── Bound       one field's encoding, for the planner
//	                                                     ├── Append      as listIndexes prints it
//	                                                     └── Conflict    against an existing index
//
// An index entry is the keystrings of the indexed values in the order of the
// key pattern, each in the direction and collation of the index; collection,
// position and _id are put around it by storage/keyspace. A kind of index
// decides which values those are: a plain one takes the fields' values, a hashed
// one their hash, a wildcard one path and value of every leaf, and so on. Kinds
// is the table; kind_<name>.go holds one each.
//
// Glossary. Entry: one index key of a document. Multikey: an index in which a
// document had several entries because of an array; MultikeyPaths says which
// components of which fields held one. Width: how many keystrings an entry has.
//
// Manual: indexes, reference/command/createIndexes.
package index
