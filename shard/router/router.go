// Package router finds the shards that a filter or a document concerns.
package router

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Targets are the shards that can hold matches of a filter, in map order: those
// of the shard key values that it fixes, of a prefix of them, of a range of a
// ranged key, or all. byteOrder says that strings compare byte by byte (no collation). The
// result is not to be changed.
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

// Group is documents that go to one shard, in the order they were given.
type Group struct {
	Shard *shard.Descriptor
	Docs  []Placed
}

// Placed is a document with the hash of its position and its place in the command.
type Placed struct {
	Doc   bson.Raw
	Hash  keyspace.Hash
	Index int
}

// Place puts consecutive documents into groups. Ordered: a new group begins
// whenever the shard changes, so that running the groups one after the other
// keeps the order. Unordered: one group per shard.
func Place(c *catalog.Collection, docs []Placed, ordered bool) []Group {
	if c.Map.Len() == 1 {
		return []Group{{c.Map.Shards()[0], docs}}
	}
	var out []Group
	at := map[shard.ID]int{}
	for _, p := range docs {
		d := c.Home(p.Doc, p.Hash)
		i, ok := at[d.ID]
		if ordered {
			i, ok = len(out)-1, len(out) > 0 && out[len(out)-1].Shard == d
		}
		if !ok {
			i = len(out)
			at[d.ID] = i
			out = append(out, Group{Shard: d})
		}
		out[i].Docs = append(out[i].Docs, p)
	}
	return out
}
