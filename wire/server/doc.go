// Package server accepts connections, reads their messages, hands each to a Handler and
// writes the replies.
//
//	listener ──► Conn goroutine:  read ──► Handler.Handle ──► write ──► read …
//	                  ▲                         │ ctx
//	                  └── watch (one per server): client gone? idle? stuck in a write?
//
// One goroutine per connection; the commands of a connection run one after the other, as
// the protocol promises. Requests and replies live in memory reused from message to
// message, so that the loop itself allocates nothing per request. What must be noticed
// while a connection's goroutine is busy or blocked (the client went away, nothing
// happened for too long) is looked for by one goroutine for all of them, which costs a
// request two atomic stores.
//
// The package knows no command. It answers by itself only what never reaches one:
// documents that are not BSON, opcodes nobody serves, and a panic of the handler.
//
// Glossary. Tag: the name a listener was given, so that one process can show different
// personalities on different ports. Exhaust: one request answered by many replies.
// Drain: finish running commands, start none.
package server
