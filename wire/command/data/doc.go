// Package data is the room of the commands on documents, such as find, aggregate, insert, update, bulkWrite and
// applyOps, and of those on cursors, getMore and killCursors.
//
//	arguments ─► a plan.Find, an agg.Outline or a cluster.Modify ─► shard/cluster ─► reply
//
// The file of a command reads the arguments, passes them to the cluster, and formats the result; the packages below
// run the query. The room itself has only one piece of state, the pace of change streams: cursors belong to the
// server (wire/cursor).
//
// The sources of cursors: a stream of the cluster (streamSource), the events of a change stream (changeSource), the
// end of a capped collection (tailSource) or of the change log (oplogSource), and the list of results of a bulkWrite
// (cursor.NewDocs).
//
// Words. Statement: one element of updates or deletes. Operation: one element of the ops of bulkWrite. Results of the
// statements of retryable writes are stored, so that a retry gets the same result.
//
// Sources: the manual's pages reference/command/nav-crud and nav-aggregation; the drivers'
// specifications CRUD, retryable writes, change streams and bulkWrite.
package data
