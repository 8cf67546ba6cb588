// Package command implements the chain: the steps that the server runs around every command of a client. The
// commands themselves are in the packages below it, called rooms. A room has a table of rows (Def), one file
// per command, and the state that its commands share.
//
//	Handle ─► find the row ─► generic arguments ─► may it run here? ─► list it ─► time limit
//	       ─► the row's privileges ─► Parse ─► the Request's ─► session ─► Run ─► durability ─► reply, price, observers
//
// The chain is the same for all commands and mentions none of them by name: the properties of a command are
// fields of its row. The chain reads the generic arguments (lsid, txnNumber, readConcern, writeConcern,
// maxTimeMS, comment), checks the session out, sets the deadline of the context, runs the command, attaches
// error labels, and ends the reply with ok, operationTime and $clusterTime. A command lists its own
// arguments as rows for Call.ReadArgs, which refuses unknown fields, and appends its fields to Call.Reply. If
// the privileges that a command needs depend on its arguments, they are read once, into a Request: the
// authorization and the execution use the same values.
//
// A room imports the chain and no other room. The chain calls a room, and a room another room, through an
// interface that the room implements (interfaces.go). A collection or stage whose documents are computed when
// it is read is a row of Server.Virtual or Server.Stages. Code that must see every command after it has ended
// registers an observer (OnEnd). Rooms join before the server serves; wire/rooms lists them. New writes
// nothing into the cluster: Attach does.
//
// Words. Call: one running command. ConnState: the state of a client connection. Page: the batch
// that a getMore returns. Statement: one of the writes in a batch command.
package command
