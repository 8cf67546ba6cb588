// Package command is everything a client can ask: one table row and one file
// per command, and the fixed chain around each of them.
//
//	Handle ─► find the row ─► version and namespace ─► session ─► arguments ─► Run ─► reply
//
// The chain is the same for all commands and knows none of them: it reads the
// generic arguments (lsid, txnNumber, readConcern, writeConcern, maxTimeMS,
// comment), checks the session out, puts the deadline on the context, runs the
// command, attaches labels, and ends the reply with ok, operationTime and
// $clusterTime. A command reads its own arguments with Call.Each, which refuses
// unknown fields, and appends its fields to Call.Reply.
//
// The tables are the coverage list: scripts/gendocs prints them.
package command
