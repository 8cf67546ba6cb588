// Package pebblekv is the default engine: one Pebble store per server.
//
// Pebble has snapshots but no transactions (its indexed batch reads the newest
// state), so a Txn is a pinned snapshot plus a writebuf.Buffer, and Commit
// validates against a table of recently committed keys:
//
//	Begin   state mutex: newest snapshot (shared by all transactions that begin at it), insert into the list of open writable transactions
//	Commit  commit mutex: [state mutex: validate]; assign the timestamp
//	                      apply the batch to Pebble, without waiting for the disk
//	                      [state mutex: publish timestamp, enter keys into the conflict table, leave the list]
//	                      release latches
//	        outside: wait for a sync (group commit: one sync for all waiting commits)
//
// The order of timestamps is the order in which commits become visible and stand in the write-ahead log. So if the
// commit with timestamp n survives a crash, all commits before it survive.
//
// Invariants:
//
//   - A snapshot object at timestamp t sees exactly the commits <= t. It is created under the state mutex while no
//     commit is being applied, at the latest by the commit that makes a newer one.
//   - Every key committed after the start of an open transaction is in the conflict table, or the table marks (by its
//     horizon) that entries after that start may be missing.
//   - Durable never exceeds the commits that were applied before the latest finished sync began.
//
// Keys of the engine itself begin with 0x00: see keys.go.
package pebblekv
