// Package survey implements calls to all peers: a server requests data from all other servers over the same
// store that each of them only has for itself, such as the RU it admitted or its hot keys.
//
// A call is a row in the store, and so is each answer; the caller removes both. Peers notice a call like any
// change of a topic (keyspace.TouchTopic): an answer takes about 200 ms if nothing has changed for a while,
// and some 10 ms on a busy store. Servers need no network connection to each other besides the store, and no
// shared secret.
//
// If a peer does not answer in time, the caller gets its name, and must show that this peer's part is
// missing. A server whose lease has expired is not called.
//
//	caller                        peer
//	row of the call     ────────▶ notices it, runs the function of Handle
//	waits, reads rows   ◀──────── row of its answer, only while the call is there
//	removes all rows
package survey
