// Package plan turns a find into a solution: which keys are read in which
// order, and what is done with the rows. It touches no data.
//
//	find ── Canonical ──► Query ── Candidates ──► []*Solution ── Choose ──► *Solution
//
// A solution is a tree of nodes, immutable and the same for all shards of a
// collection, since shards share index definitions; exec.Build makes operators
// of it for one shard. Node names are the ones that MongoDB's explain prints.
//
// Glossary. Canonical query: filter, sort and projection, parsed and
// normalised. Solution: a physical plan. Bounds: the intervals of an index that
// hold every match. Exact bounds: they hold nothing else, so the predicate need
// not be looked at again. Covered: answered from index keys alone. Seeks: the
// index ranges probed per partition, which the price list charges.
package plan
