package catalog

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// keyCombinationsMax bounds the number of shard keys to which a filter is expanded.
const keyCombinationsMax = 1024

// Position returns the hash with which the position of a document begins. Documents of capped collections get the
// next free position instead, those of time-series collections the first free one from the result on. Errors:
// ShardKeyNotFound (61) when a field of the shard key holds an array, BadValue (2) when a document of a time-series
// collection has no time.
func (c *Collection) Position(doc bson.Raw) (keyspace.Hash, error) {
	if c.Options.TimeSeries != nil {
		return c.Options.timePosition(doc)
	}
	return c.Key.Hash(doc)
}

// AppendID appends the id of a document, which follows the hash in its record's
// key: the keystrings of a ranged shard key, then that of _id. The shard key of
// the document must not hold an array.
func (c *Collection) AppendID(dst []byte, doc bson.Raw) []byte {
	return keystring.Append(c.Key.AppendTail(dst, doc), doc.Get("_id"), keystring.Ascending, c.Options.Collation.Order(), nil)
}

// IDParts returns the number of keystrings in an id.
func (c *Collection) IDParts() int { return c.Key.TailParts() + 1 }

// Home returns the shard of a document whose hash Position has returned.
func (c *Collection) Home(doc bson.Raw, h keyspace.Hash) *shard.Descriptor {
	if c.Key.TailParts() == 0 || c.Map.Len() == 1 {
		return c.Map.Find(h, nil)
	}
	return c.Map.Find(h, c.Key.AppendTail(nil, doc))
}

// keyCombinations returns all combinations of the values that a filter allows for the leading fields of the shard
// key, and the number of fields that it fixes. byteOrder is true if strings compare byte by byte: only then a string
// or a document fixes a position.
func (c *Collection) keyCombinations(f match.Node, byteOrder bool) (combos [][]bson.Value, fixed int) {
	combos = [][]bson.Value{nil}
	for _, field := range c.Key.Fields() {
		vs, ok := match.Points(f, field.Path.String())
		if !ok || len(vs)*len(combos) > keyCombinationsMax ||
			slices.ContainsFunc(vs, func(v bson.Value) bool { return !fixesPosition(v, byteOrder) }) {
			break
		}
		var next [][]bson.Value
		for _, v := range vs {
			for _, combo := range combos {
				next = append(next, append(slices.Clone(combo), v))
			}
		}
		combos, fixed = next, fixed+1
	}
	return combos, fixed
}

// fixesPosition reports whether all documents that match equality with v are stored at the position of v. A shard key
// value is never an array, but equality with an array can match a longer one; a regular expression is not a value.
// byteOrder is true if strings compare byte by byte.
func fixesPosition(v bson.Value, byteOrder bool) bool {
	switch v.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return false
	case bson.TypeString, bson.TypeSymbol, bson.TypeDocument:
		return byteOrder
	}
	return true
}

// Targeted reports whether a filter fixes the whole shard key to one value, or matches nothing; true without a shard
// key.
func (c *Collection) Targeted(f match.Node, byteOrder bool) bool {
	combos, fixed := c.keyCombinations(f, byteOrder)
	return fixed == len(c.Key.Fields()) && len(combos) <= 1
}

// EqualPosition returns the position of the documents that match a filter, if the filter fixes the
// shard key to one value: the hash, and the part of their ids that precedes _id.
func (c *Collection) EqualPosition(f match.Node, byteOrder bool) (h keyspace.Hash, tail []byte, ok bool) {
	combos, fixed := c.keyCombinations(f, byteOrder)
	if fixed < len(c.Key.Fields()) || len(combos) != 1 {
		return 0, nil, false
	}
	if c.Key.TailParts() > 0 {
		return keyspace.HashMin, c.Key.Prefix(combos[0]...)[len(shard.HashPosition(0)):], true
	}
	return c.Key.AppendHashes(nil, combos[0]...)[0], nil, true
}

// rangesMax bounds the number of ranges to which equality with shard key values is expanded; beyond it, Ranges
// returns the whole line of positions.
const rangesMax = 2 * shard.ShardsMax

// Ranges returns the ranges of positions in which matches of a filter can be stored, as far as the filter fixes
// leading fields of the shard key to values and bounds the next field. The ranges ascend and do not touch. If the
// filter restricts nothing, the result is the whole line of positions; nil if it can match nothing.
func (c *Collection) Ranges(f match.Node, byteOrder bool) []shard.Range {
	combos, fixed := c.keyCombinations(f, byteOrder)
	fields := c.Key.Fields()
	var out []shard.Range
	switch {
	case len(combos) == 0:
		return nil
	case fixed < len(fields) && c.Key.TailParts() > 0 && !fields[fixed].Hashed:
		out = c.boundedRanges(f, combos, fields[fixed].Path.String(), byteOrder)
	default:
		for _, values := range combos {
			if out = append(out, c.Key.EqualRanges(values...)...); len(out) > rangesMax {
				return []shard.Range{{}}
			}
		}
	}
	return mergeRanges(out)
}

// boundedRanges returns the ranges of positions to which a filter bounds one field of a ranged shard key, for each
// combination of values of the fields before it; all its values if the filter bounds it not at all or too finely.
func (c *Collection) boundedRanges(f match.Node, combos [][]bson.Value, field string, byteOrder bool) (out []shard.Range) {
	ivs, ok := match.Bounded(f, field)
	for _, iv := range ivs {
		ok = ok && (byteOrder || iv.IsCollationIndependent())
	}
	if !ok || len(ivs)*len(combos) > keyCombinationsMax {
		ivs = []match.Interval{match.AllValues()}
	}
	for _, values := range combos {
		whole := shard.Range{}
		if len(values) > 0 {
			whole = c.Key.EqualRanges(values...)[0]
		}
		for _, iv := range ivs {
			r := whole
			if iv.Lo.Type != bson.TypeMinKey {
				if r.Lo = c.Key.Prefix(append(slices.Clone(values), iv.Lo)...); !iv.LoInclusive && !iv.Lo.IsNullish() {
					r.Lo = keyspace.PrefixEnd(r.Lo)
				}
			}
			if iv.Hi.Type != bson.TypeMaxKey {
				if r.Hi = c.Key.Prefix(append(slices.Clone(values), iv.Hi)...); iv.HiInclusive {
					r.Hi = keyspace.PrefixEnd(r.Hi)
				}
			}
			out = append(out, r)
		}
	}
	return out
}

// mergeRanges sorts ranges and merges those that touch.
func mergeRanges(rs []shard.Range) []shard.Range {
	rs = slices.DeleteFunc(rs, shard.Range.IsEmpty)
	slices.SortFunc(rs, func(a, b shard.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	var out []shard.Range
	for _, r := range rs {
		if n := len(out); n > 0 && (out[n-1].Hi == nil || bytes.Compare(r.Lo, out[n-1].Hi) <= 0) {
			if out[n-1].Hi != nil && (r.Hi == nil || bytes.Compare(r.Hi, out[n-1].Hi) > 0) {
				out[n-1].Hi = r.Hi
			}
			continue
		}
		out = append(out, r)
	}
	return out
}
