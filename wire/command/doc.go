// Package command is the chain around every command that a client can send. The commands
// themselves stand in the packages below it, its rooms: a room has a table of rows (Def),
// one file per command, and the state that its commands share.
//
//	Handle ─► find the row ─► generic arguments ─► may it run here? ─► list it ─► time limit
//	       ─► the row's privileges ─► Parse ─► the Request's ─► session ─► Run ─► durability ─► reply, price, observers
//
// The chain is the same for all commands and knows none of them by name: what is true of one
// is a field of its row. It reads the generic arguments (lsid, txnNumber, readConcern,
// writeConcern, maxTimeMS, comment), checks the session out, puts the deadline on the context,
// runs the command, attaches labels, and ends the reply with ok, operationTime and
// $clusterTime. A command reads its own arguments with Call.Each, which refuses unknown
// fields, and appends its fields to Call.Reply. Where these decide what its user needs, they are
// read once, into a Request: what was authorized is what runs.
//
// A room knows the chain and no other room. What the chain asks a room, or one room another
// through it, is a hook (Hooks); what is made up when it is read, a row of Server.Virtual or
// Server.Stages; who wants to see every command when it has ended, an observer (OnEnd). Rooms
// join before the server serves; wire/rooms lists them. New writes nothing into the cluster:
// Attach does.
//
// Words. Call: one command being run. Peer: what is remembered of a connection. Page: what a
// getMore is about. Statement: one of several writes that a command holds.
package command
