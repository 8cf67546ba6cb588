// Package traffic keeps a sample of the requests of the last hour, so that they can be replayed against
// another shard key: how the work would have been distributed over partitions, and what visits to
// several partitions would cost.
//
// For each minute and collection it keeps some statements, with a higher probability for expensive ones (priority
// sampling: the priority is a statement's charge divided by a random number, so that sums over any part of the sample
// are unbiased). If there is room for all, all are kept and sums are exact. Of a statement it keeps the cost, and a
// hash of 32 bits for each field that its filter fixes, or that its document has. Values themselves are not kept,
// except the few of each minute that kept statements repeat, since these are the ones that a report may have to name.
//
// The memory is bounded: 1,024 statements of a minute, 16 fields of each, so at most 11 MB. A request
// that is not kept costs a hash of its number and a comparison.
//
//	recorder.go       what is kept
//	values.go         the fields of filters and documents
//	sample.go         the sample of a collection, also of several servers
//	sample_layout.go  the partitions of a statement under a key
//	replay.go         the work of partitions under a key
//
// Source: N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset sums".
package traffic
