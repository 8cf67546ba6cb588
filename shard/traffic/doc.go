// Package traffic remembers a sample of the requests of the last hour, so that they can be let fall
// on another shard key: which partitions would have had the work, and what visiting others costs.
//
// Of each minute and collection it keeps some statements, the dear ones rather than the cheap (priority
// sampling: a statement's charge divided by a random number decides, so that sums over any part of
// the sample are right on average). Where there were fewer than that, all are kept and sums are exact.
// Of a statement it keeps what it cost, and a hash of 32 bits for each field that its filter fixes, or
// that its document has. Values themselves are not kept, but for the few of each minute that came up
// again, which are those that somebody may have to be told of.
//
// What is kept is bounded: 1,024 statements of a minute, 16 fields of each, so at most 11 MB. A request
// that is not kept costs a hash of its number and a comparison.
//
//	recorder.go   what is kept
//	values.go     the fields of filters and documents
//	sample.go     what is known of a collection, of several servers too
//	place.go      where a statement would go under a key
//	replay.go     what partitions would have had to do
//
// Source: N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset sums".
package traffic
