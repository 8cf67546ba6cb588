// Package ledger sums what commands have cost, by hour: for each user, application, throughput bucket, collection,
// query shape and shard key value. The sums are integers, hundredths of a request unit, and equal the sum of the charges
// in the replies.
//
// Add, on the path of every command, finds two entries in maps under a mutex of the connection's lane: by origin (user,
// application, bucket, shape) and by value. A lane counts valuesMax values beside those that have rows; so a load in which each
// command has a value of its own costs no more. Every flushEvery the entries are added to the rows of their hour, and the changed rows are written to the store, each with its total, so that
// a repeated write does no harm. A stop writes everything; a killed server loses what it had not written. Each server
// writes rows of its own; a reader adds up those of all servers.
//
// Every kind of row has the same sum. An hour has at most RowsMax rows of a kind and server, with at most kindBytesMax (twice
// as many while the hour lasts): those with the highest sums. The others share one row. Hours are kept for KeptHours.
package ledger
