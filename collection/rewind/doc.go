// Package rewind shows collections at a time for which no snapshot was kept: it reverts, over the
// newest state, the writes that the change log contains since then.
//
//	newest snapshot ──records back to the time──► documents as they were
//	                                                   │ their index entries
//	       reader ◄──merged with the snapshot── layer ◄┘
//
// A State is one such time. Its layers, one per collection, hold the keys that differ from the
// snapshot. A layer is made when a read first needs the collection, so writes to other collections
// only cost skipping their records, and a collection without writes costs no memory. The rest of a
// read, from the plan to the cursor, is the usual code, since a layer is below storage.Reader:
// shards and indexes are the present ones, only the documents are old.
package rewind
