// Package data is the room of documents: find, aggregate, insert, update, delete,
// findAndModify, bulkWrite, count, distinct, mapReduce, applyOps, and the cursors that
// getMore reads on.
//
//	arguments ─► a plan.Find, an agg.Outline or a cluster.Modify ─► shard/cluster ─► reply
//
// A command's file reads its arguments, hands them to the cluster, and prints what comes
// back; how a query is run is the business of the packages below. The room has no state of
// its own: cursors are the server's (wire/cursor).
//
// Kinds of sources that a cursor reads from: a stream of the cluster (streamSource), the
// changes of a change stream (changeSource), the end of a capped collection or of the change
// log (tailSource).
//
// Words: a statement is one element of updates or deletes, an operation one element of a
// bulkWrite's ops. What a statement that is sent again did the first time is remembered.
//
// Sources: the manual's pages reference/command/nav-crud and nav-aggregation; the drivers'
// specifications CRUD, retryable writes, change streams and bulkWrite.
package data
