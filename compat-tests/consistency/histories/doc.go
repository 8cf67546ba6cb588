// Package histories checks the reads and writes of clients of a server, without data of the server.
// Every write has a unique value, so a value that was read identifies its write.
//
// Lists and Registers judge transactions by what snapshot isolation allows.
// A list that is read shows in which order it was appended to. Of a register the order is
// inferred: who reads a value and writes another one in the same transaction has
// put that right behind it. From these orders follow who came after whom (ww: wrote
// over, wr: read from, rt: began after the other's end was told) and who before whom (rw:
// read what the other wrote over). Snapshot isolation holds if there is no circle in which
// each rw follows another kind: G0 has ww only, G1c also wr, G-single one rw, and
// G-nonadjacent several.
//
// Cursor, Snapshot and Stream check a result row by row. Cursor is for a transaction that writes between
// the batches of its cursor, Snapshot for a read of many documents during writes, and Stream for a
// change stream or a tailable cursor. Each row comes once and in order, no row is missing, and no row is
// from the future.
package histories
