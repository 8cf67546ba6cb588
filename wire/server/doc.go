// Package server accepts connections, reads their messages, passes each to a Handler and
// writes the replies.
//
//	listener ──► Conn goroutine:  read ──► Handler.Handle ──► write ──► read …
//	                  ▲                         │ ctx
//	                  └── watch (one per server): client gone? idle? stuck in a write?
//
// Each connection has one goroutine; the commands of a connection run one after the
// other, as the protocol promises. Requests and replies use memory that is reused from
// message to message, so that the loop allocates nothing per request. One goroutine for
// all connections, the watcher, detects what happens while a connection's goroutine is
// busy or blocked: the client has disconnected, or nothing has happened for too long. The
// watcher costs a request two atomic stores.
//
// The package implements no commands. It answers by itself only messages that cannot be
// parsed or get no memory, opcodes that are not served, HTTP requests, and a panic of the
// handler.
//
// Glossary. Tag: the name of a listener, by which one process can behave differently on
// different ports. Exhaust: one request answered by many replies. Drain: finish running
// commands, start none.
package server
