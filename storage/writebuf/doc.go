// Package writebuf holds the uncommitted writes of one transaction in key order,
// for engines that have snapshots but no transactions of their own: an overlay
// to read through, an iterator that merges it with the snapshot's, savepoints,
// and the whole content in order for the commit.
//
//	Txn.Set ──► Buffer ──Newest or Snapshot──► Layer ──Get───► overlay, else snapshot
//	              │                               └────Over──► Iterator over both
//	              └──All──► the engine's batch
//
// Most transactions write fewer than ten keys, so the order is kept in one short sorted slice; larger ones
// get a row of such slices. Keys and values are copied once, into chunks that live as long as the Buffer.
// Once a snapshot of the Buffer was taken, an overwritten value stays as an older version, for the readers of
// that snapshot. Txn is the transaction of all engines: Writer is its half that writes, over a Buffer, and
// Reads the half that reads, over a Layer. An engine gives it snapshot reads (Below) and the commit (Engine).
// A Buffer belongs to one transaction; reads may be concurrent, but no other call may be concurrent with a
// write.
package writebuf
