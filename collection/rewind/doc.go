// Package rewind shows collections as they were at a time that nobody kept a
// snapshot of: it takes back, over the newest state, what the change log says was
// written since.
//
//	newest snapshot ──records back to the time──► documents as they were
//	                                                   │ their index entries
//	       reader ◄──merged with the snapshot── layer ◄┘
//
// A State is one such time. Its layers, one per collection, hold the keys that
// differ from the snapshot and are made when a read first asks for the collection;
// so what was written elsewhere costs only its being skipped, and where nothing was
// written nothing is held. Everything else of a read, from the plan to the cursor, is
// as always, since a layer lies below storage.Reader: shards and indexes are today's,
// only the documents are yesterday's.
package rewind
