// Package history remembers what every partition did: each second of the last 15 minutes,
// each ten seconds of the last six hours, each five minutes of the last seven days.
//
// A Recorder looks once a second at the counters that the budgets keep anyway; nothing is
// added to the path of a request. It writes what has changed into rings of fixed length,
// one byte for each partition, metric and step, on a scale of equal ratios (see Scale).
// What the whole server did lies beside them as plain numbers.
//
// A partition has a row while it does something. There are RowsMax of them, so memory is
// bounded whatever users create: an idle row is given to who needs one, its past stays
// known by the times of its stays, and where all rows are busy neighbours share one.
//
// Whoever reads makes the recorder look first, so that under a clock that stands still
// (the custom action Clock) the same steps always give the same history.
package history
