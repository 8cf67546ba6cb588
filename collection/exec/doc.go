// Package exec runs solutions: it makes pull operators of plan nodes for one
// shard and one snapshot, and puts the operators of several shards together.
//
//	plan.Node ── Build ──► Operator (one shard) ── Concat, Merge, Prefetch ──► Operator (all shards)
//
// An operator hands out rows one at a time. A row and everything it points to
// belongs to the operator and is valid until its next Next or Close; whoever
// keeps rows copies them. Operators are used by one goroutine and count what
// they did, for explain and for the request charge. Close releases iterators
// and may be called twice.
package exec
