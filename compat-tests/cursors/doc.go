// Package cursors lets cursors and change streams be read while everything moves, and judges what
// they gave by the judges of package histories: each row once, in order, none missing, none that their
// snapshot has not.
//
// TestInTransactions is about cursors of transactions that write between their batches. TestMoving has
// writers whose changes are known, and beside them ordinary cursors, snapshots of the past, cursors
// of transactions, tailable cursors and change streams of a collection, a database and all of them,
// resumed at any token, while the collection is split, merged, moved, resharded and indexed: in memory,
// on files under kill -9, and at three servers over a simulated TiKV cluster of which one after
// another is killed.
//
// The servers are built as they are released, without the self-checks that other tests have:
// those park cursors, which hides what goes wrong in one that stays open.
//
//	CANTLE_SEED      draws the same again
//	CANTLE_LONG      five minutes of each instead of seconds
package cursors
