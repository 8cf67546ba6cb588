// Package changestream makes events of the change log: what $changeStream
// delivers.
//
//	change log ──► Stream ──► event documents
//	    │            │ names: which collection a number was at that time
//	    └──► Hub ────┘ wakes the streams that wait for what a commit holds
//
// A Stream reads the durable part of the log in commit order, from a place that
// a resume token names, and never skips a record: what it delivers depends only
// on the log, so a stream resumed elsewhere or after a restart goes on exactly
// where the first one stopped. Shards do not appear: a split or a change of the
// shard key changes nothing for a reader.
//
// The Hub is the one reader of the log's end for all streams that wait. A
// stream that waits costs nothing until a commit holds a record of a collection
// it watches, or a DDL command.
//
// Manual: changeStreams, reference/change-events.
//
// Glossary: token, a place in the stream of events; mark, a token that names no
// event but a time up to which everything was delivered; names, the collections
// at one time of the log; partition, the part of a collection's hash range that
// a stream is restricted to.
package changestream
