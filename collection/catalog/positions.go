package catalog

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/storage/keyspace"
)

// hashesMax bounds how many positions a filter is expanded to.
const hashesMax = 1024

// Positions are the hash positions that can hold matches of a filter that fixes
// every field of the shard key, by equality or $in; nil when it does not. They
// are ascending and distinct. byteOrder says that strings compare byte by byte:
// under a collation, equal strings may lie at different positions.
func (c *Collection) Positions(f match.Node, byteOrder bool) []keyspace.Hash {
	fields := c.Key.Fields()
	if len(fields) == 0 {
		return nil
	}
	combos := [][]bson.Value{nil}
	for _, field := range fields {
		vs, ok := match.Points(f, field.Path.String())
		if !ok || len(vs)*len(combos) > hashesMax {
			return nil
		}
		var next [][]bson.Value
		for _, v := range vs {
			if !positioned(v, byteOrder) {
				return nil
			}
			for _, combo := range combos {
				next = append(next, append(slices.Clone(combo), v))
			}
		}
		combos = next
	}
	hs := make([]keyspace.Hash, 0, len(combos))
	for _, values := range combos {
		lo, _ := c.Key.EqualHashes(values...)
		hs = append(hs, lo)
	}
	slices.Sort(hs)
	return slices.Compact(hs)
}

// positioned reports that documents equal to v lie where v's hash says. An
// array never is a shard key value, but equality with an array can match a
// longer one; a regular expression is no value at all.
func positioned(v bson.Value, byteOrder bool) bool {
	switch v.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return false
	case bson.TypeString, bson.TypeSymbol, bson.TypeDocument:
		return byteOrder
	}
	return true
}

// PrefixPositions are the first and last position that can hold matches of a
// filter that fixes the leading fields of a hierarchical shard key to one value
// each; ok is false when it does not.
func (c *Collection) PrefixPositions(f match.Node, byteOrder bool) (lo, hi keyspace.Hash, ok bool) {
	var values []bson.Value
	for _, field := range c.Key.Fields() {
		vs, known := match.Points(f, field.Path.String())
		if !known || len(vs) != 1 || !positioned(vs[0], byteOrder) {
			break
		}
		values = append(values, vs[0])
	}
	if len(values) == 0 {
		return 0, 0, false
	}
	lo, hi = c.Key.EqualHashes(values...)
	return lo, hi, true
}
