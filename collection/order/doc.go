// Package order holds sort patterns and the keys they sort by, and the
// expansion of arrays that sort keys and index keys share.
//
//	{a: 1, "b.c": -1}  ── Parse ──►  Pattern ── AppendKey(doc) ──►  bytes
//
// A sort key is the keystrings of a document's values under the pattern,
// descending ones inverted, so that bytes.Compare of the keys is the order of
// the documents. Where a path meets an array a document has several keys and
// sorts by the least of them: ascending fields by their least element,
// descending ones by their greatest.
//
// Glossary. Part: one field of a pattern. Tuple: one value per path. Parallel
// arrays: two paths that go through different arrays of one document; they have
// no tuples.
//
// Manual: reference/method/cursor.sort, core/indexes/index-types/index-multikey.
package order
