// Package survey lets one of several servers over one store ask all others something that each of
// them knows only for itself: what it admitted, which keys were hot there, what it remembers.
//
// A question is a row, and so is each answer; whoever asks removes both. The others hear of a
// question as they hear of all that changes (keyspace.TouchTopic), so an answer takes a fifth of a
// second where nothing has changed for a while, and some ten milliseconds where much does. Servers
// need no way to each other but the store, and no secret between them.
//
// Nobody answers for a server that says nothing in time: whoever asked is told its name, and is to
// tell people that its part is missing. A server whose lease is over is no longer asked.
//
//	asker                         another server
//	row of the question ────────▶ hears of it, calls what Answer was given
//	waits, reads rows   ◀──────── row of its answer, only while the question is there
//	removes all of them
package survey
