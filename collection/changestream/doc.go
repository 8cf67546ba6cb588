// Package changestream makes events from the change log: the output of $changeStream.
//
//	change log ──► Stream ──► event documents
//	    │            │ names: which collection a number was at that time
//	    └──► Hub ────┘ wakes the streams that wait for what a commit holds
//
// A Stream reads the durable part of the log in commit order, from the place in a resume token, and
// never skips a record. Its output depends only on the log, apart from documents that it looks up,
// so a stream that is resumed at another server or after a restart continues exactly where the
// first one stopped. Shards are not visible: a split or merge changes nothing for a reader.
//
// The Hub is the only reader of the log's end for all streams that wait. A waiting stream costs
// nothing until a commit contains a record of a collection it watches, or a DDL command.
//
// Manual: changeStreams, reference/change-events.
//
// Glossary: token, a place in the stream of events; mark, a token for no event but for a time up to
// which everything was delivered; names, the collections at one time of the log; partition, the
// part of a collection's hash range to which a stream is restricted.
package changestream
