// Package histories judges what clients of a server read and wrote, knowing nothing of the server.
// Every write has a value of its own, so that who read it shows who wrote it.
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
// Cursor, Snapshot and Stream judge what was read row by row: a cursor of a transaction that writes
// between its batches, a read of many documents beside writers, and a change stream or tailable
// cursor. Each row comes once, in order, none is missing, and none is from the future.
package histories
