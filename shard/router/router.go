// Package router determines the shards of filters and documents.
package router

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
	"iter"
)

// Targets returns the shards of a collection that can hold matches of a filter, in map order: those of the shard key
// values that the filter fixes, of a prefix of them, of a range of a ranged key, or all. byteOrder means that strings
// compare byte by byte (no collation). The caller must not change the result.
func Targets(c *catalog.Collection, f match.Node, byteOrder bool) []*shard.Descriptor {
	if c.Map.Len() == 1 {
		return c.Map.Shards()
	}
	var out []*shard.Descriptor
	for _, r := range c.Ranges(f, byteOrder) {
		for _, d := range c.Map.FindRange(r) {
			if len(out) == 0 || out[len(out)-1] != d {
				out = append(out, d)
			}
		}
	}
	return out
}

// Placed is a document to insert, with the hash of its position, its index in the command, and its shard, which
// ByShard sets.
type Placed struct {
	Doc   bson.Raw
	Hash  keyspace.Hash
	Index int
	Shard *shard.Descriptor
}

// Positions yields documents with their positions.
func Positions(docs []Placed) iter.Seq2[bson.Raw, keyspace.Hash] {
	return func(yield func(bson.Raw, keyspace.Hash) bool) {
		for i := range docs {
			if !yield(docs[i].Doc, docs[i].Hash) {
				return
			}
		}
	}
}

// ByShard sets the shard of each document in docs, and puts the documents into groups that may be committed together.
// If ordered, there is one group, whatever the shards, so that the order is kept without a commit for each run of
// neighbours; otherwise there is one group per shard.
func ByShard(c *catalog.Collection, docs []Placed, ordered bool) [][]Placed {
	if c.Map.Len() == 1 {
		d := c.Map.Shards()[0]
		for i := range docs {
			docs[i].Shard = d
		}
		return [][]Placed{docs}
	}
	for i := range docs {
		docs[i].Shard = c.Home(docs[i].Doc, docs[i].Hash)
	}
	if ordered && len(docs) > 0 {
		return [][]Placed{docs}
	}
	var out [][]Placed
	at := map[shard.ID]int{}
	for i := range docs {
		p := &docs[i]
		d := p.Shard
		g, ok := at[d.ID]
		if !ok {
			g = len(out)
			at[d.ID] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], *p)
	}
	return out
}
