// Package order holds sort patterns and sort keys, and the expansion of arrays for sort keys and index
// keys.
//
//	{a: 1, "b.c": -1}  ── Parse ──►  Pattern ── AppendKey(doc) ──►  bytes
//
// A sort key consists of the keystrings of a document's values under the pattern, with those of
// descending fields inverted, so that bytes.Compare of the keys is the order of the documents. If there
// is an array on a path, a document has several keys and sorts by the smallest one: ascending fields by
// their smallest element, descending ones by their greatest.
//
// Glossary. Part: one field of a pattern. Tuple: one value per path. Parallel arrays: two paths that go
// through different arrays of one document; they have no tuples.
//
// Manual: reference/method/cursor.sort, core/indexes/index-types/index-multikey.
package order
