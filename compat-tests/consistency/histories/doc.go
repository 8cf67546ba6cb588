// Package histories checks the reads and writes of clients of a server, without data of the server. Every
// write has a unique value, so a value that was read identifies its write.
//
// Lists and Registers judge transactions by snapshot isolation. A list that is read shows the order of its
// appends. For a register the order is inferred: a transaction that reads a value and writes another one has
// written directly after it. From these orders follow the dependencies between transactions: ww (overwrites
// its value), wr (reads its value), rt (begins after its acknowledgement), and rw, in which the first
// transaction reads a value that the second overwrites. Snapshot isolation holds if there is no cycle in
// which each rw is followed by another kind: G0 has ww only, G1c also wr or rt, G-single one rw, and G-nonadjacent
// several.
//
// Cursor, Snapshot and Stream check a result row by row. Cursor is for a transaction that writes between the
// batches of its cursor, Snapshot for a read of many documents during writes, and Stream for a change stream
// or a tailable cursor. Each row comes once and in order, no row is missing, and no row is from the future.
package histories
