// Package plan turns a find into a solution: the keys to read, their order, and the operations on the
// rows. It reads no data.
//
//	find ── Canonical ──► Query ── Candidates ──► []*Solution ── Choose ──► *Solution
//
// A solution is a tree of nodes, immutable and the same for all shards of a collection, since shards
// share index definitions; exec.Build makes operators of it for one shard. Node names are the ones that
// MongoDB's explain prints.
//
// Glossary. Canonical query: filter, sort and projection, parsed and normalised. Solution: a physical
// plan. Bounds: the intervals of an index that contain every match. Exact bounds: they contain nothing
// else, so the predicate need not be evaluated again. Covered: answered from index keys alone. Seeks:
// the index ranges probed per partition, which the price list charges.
package plan
