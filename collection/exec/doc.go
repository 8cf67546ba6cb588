// Package exec runs solutions: it makes pull operators of plan nodes for one shard and one snapshot, and
// puts the operators of several shards together.
//
//	plan.Node ── Build ──► Operator (one shard) ── Concat, Merge, Prefetch ──► Operator (all shards)
//
// An operator returns rows one at a time. A row and everything that the row points to belongs to the
// operator and is valid until the operator's next Next, Park or Close; a caller that keeps rows copies them.
// One goroutine uses an operator. Operators count their work, for explain and for the request charge.
// Close releases iterators and may be called twice.
package exec
