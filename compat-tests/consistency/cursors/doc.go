// Package cursors reads cursors and change streams during concurrent writes and structural changes.
// Package histories checks the results: each row comes once and in order, no row is missing, and no
// row is outside the snapshot.
//
// TestInTransactions tests cursors of transactions that write between their batches. In TestMoving,
// writers record their changes. At the same time readers use ordinary cursors, snapshots of the past,
// cursors of transactions, tailable cursors, and change streams of a collection, a database and all
// databases. The streams resume at any token. Meanwhile the collection is split, merged, moved,
// resharded and indexed. The test runs in memory, on files with kill -9, and on three servers over a
// simulated TiKV cluster, where servers are killed at random.
//
// The servers are release builds, without the self-checks of other tests. The self-checks park
// cursors, and this hides errors of cursors that stay open.
//
//	CANTLE_SEED      draws the same again
//	CANTLE_LONG      five minutes of each instead of seconds
package cursors
