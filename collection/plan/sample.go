package plan

import "github.com/cantledb/cantle/bson"

// Sample reads documents at random positions: of all records of a collection, or in a plan of one shard of that shard,
// each set of Size records with the same probability.
// Manual: reference/operator/aggregation/sample.
type Sample struct{ Size int64 }

// Stage implements Node.
func (*Sample) Stage() string { return "MULTI_ITERATOR" }

// Inputs implements Node.
func (*Sample) Inputs() []Node { return nil }

// Describe implements Node.
func (n *Sample) Describe(b *bson.Builder) { b.Int64("size", n.Size) }
