// Package history records the load of every partition: each second of the last 15 minutes, each ten
// seconds of the last six hours, each five minutes of the last seven days.
//
// A Recorder reads once a second the counters that the budgets keep anyway; only Ended, a few atomic adds, is on the
// path of a request. The Recorder writes the differences into rings of fixed length, one byte for each partition,
// metric and step, on a logarithmic scale (see Scale). The totals of the whole server are kept beside them as plain
// numbers.
//
// A partition gets a row when it has load. There are RowsMax rows, so memory is bounded whatever
// users create: an idle row is given to a partition that needs one, and the past of the row keeps
// the partitions that had it, with their times. If all rows are busy, neighbours share a row.
//
// The work of query shapes is recorded beside: for each step of ten seconds and of five minutes the shapes with the
// most work, and the sums of the others by collection (see Shape). That takes at most 5 MB.
//
// Every read makes the recorder read the counters first, so that under a clock that stands still
// (the custom action Clock) the same steps always give the same history.
package history
