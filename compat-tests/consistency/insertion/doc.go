// Package insertion compares the order in which an unsharded collection is read without a sort, forwards and backwards,
// with a model: a list to which inserts append. The writes are random: rising and falling numbers, random texts and
// generated ids, deletes and new documents with the ids of deleted ones, updates, upserts, bulk writes, and
// transactions that end either way. Cursors are read in batches while the collection is changed. The test runs in
// memory, on files with kill -9, and on two servers over a simulated TiKV cluster; a further one has several writers
// at once.
//
//	CANTLE_SEED      draws the same again
package insertion
