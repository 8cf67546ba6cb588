// Package pebblekv is the default engine: one Pebble store per server.
//
// Pebble has snapshots but no transactions (its indexed batch reads the newest
// state), so a Txn is a pinned snapshot plus a writebuf.Buffer, and Commit
// validates against a table of recently committed keys:
//
//	Begin   state mutex: newest snapshot (shared by all that begin at it), place in the list of open transactions
//	Commit  commit mutex: [state mutex: validate, assign the timestamp]
//	                      apply the batch to Pebble, not waiting for the disk
//	                      [state mutex: publish timestamp, remember keys, leave the list]
//	        outside: release latches; wait for a sync shared with everybody else
//
// The order of timestamps is the order of visibility and of the write-ahead log,
// so "timestamp n survived" implies that all before it did.
//
// Invariants. A snapshot object at timestamp t sees exactly the commits <= t:
// it is made under the state mutex while no commit is being applied, at the
// latest by the commit that would end its being newest. Every key committed after
// the start of an open transaction is in the conflict table, or the table's
// horizon lies above that start. Durable never exceeds what a sync that began
// after its commits covers.
//
// Keys of the engine itself begin with 0x00: see keys.go.
package pebblekv
