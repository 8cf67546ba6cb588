// Package wire converts the bytes of a connection into messages and back: headers, OP_MSG
// sections and checksums, OP_COMPRESSED, and the older OP_QUERY, OP_GET_MORE, OP_KILL_CURSORS and OP_REPLY.
//
//	socket ── Reader.Read ──► Message ── (command) ──► Reply ── Finish ──► socket
//	              │                                      │
//	              └────────────── Pool ──────────────────┘
//
// Memory: a Message aliases the frame that its Reader read last; both are valid until the next Read or Release. A
// Reply keeps 1 KiB for the next reply. All other memory of messages and replies goes back to the Pool shared by all
// connections of a server, so that an idle connection holds little. In the steady state an uncompressed
// OP_MSG allocates nothing here.
//
// Every document in a Message has passed bson.Parse; no other package validates it again.
//
// Glossary. Frame: the memory of one message. Section: part of an OP_MSG, kind 0 the body,
// kind 1 a document sequence. Exhaust: one request, many replies.
//
// Spec: message/OP_MSG, compression/OP_COMPRESSED. Manual: reference/mongodb-wire-protocol.
package wire
