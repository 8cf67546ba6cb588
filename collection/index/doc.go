// Package index holds index specifications and the generation of index keys.
//
//	{key: {a: 1}, name: "a_1", …} ── ParseSpec ──►  *Spec ──┬── Keys(doc)   entries of a document
//	                                                     ├── Bound       one field's encoding, for the planner
//	                                                     ├── Append      as listIndexes prints it
//	                                                     └── Conflict    against an existing index
//
// An index entry consists of the keystrings of the indexed values in the order of the key pattern, each in
// the direction and collation of the index; storage/keyspace adds collection, position and _id. The kind of
// the index determines the values: a plain index stores the fields' values, a hashed index their hashes, a
// wildcard index path and value of every leaf, and so on. Kinds is the table; each kind has a file
// kind_<name>.go.
//
// Glossary. Entry: one index key of a document. Multikey: an index in which a document had several entries
// because of an array; MultikeyPaths records the components of the fields that held one. Width: the number
// of keystrings of an entry.
//
// Manual: indexes, reference/command/createIndexes.
package index
