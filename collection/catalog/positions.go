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

// combosMax bounds how many shard keys a filter is expanded to.
const combosMax = 1024

// Position is the hash of a document's position. It is not known for documents
// of capped collections: those get the next place. Of those of a time-series
// collection it is the first that may be free.
// Errors: ShardKeyNotFound (61) when the shard key holds an array, BadValue (2)
// when a time-series collection's has no time.
func (c *Collection) Position(doc bson.Raw) (keyspace.Hash, error) {
	if c.Options.TimeSeries != nil {
		return c.Options.timePosition(doc)
	}
	return c.Key.Hash(doc)
}

// AppendID appends the id of a document, which follows the hash in its record's
// key: the keystring of _id, after those of a ranged shard key. The shard key of
// the document holds no array.
func (c *Collection) AppendID(dst []byte, doc bson.Raw) []byte {
	return keystring.Append(c.Key.AppendTail(dst, doc), doc.Get("_id"), keystring.Ascending, c.Options.Collation.Order(), nil)
}

// IDParts is how many keystrings an id has.
func (c *Collection) IDParts() int { return c.Key.TailParts() + 1 }

// Home is the shard of a document with a hash that Position has returned.
func (c *Collection) Home(doc bson.Raw, h keyspace.Hash) *shard.Descriptor {
	if c.Key.TailParts() == 0 || c.Map.Len() == 1 {
		return c.Map.Find(h, nil)
	}
	return c.Map.Find(h, c.Key.AppendTail(nil, doc))
}

// combos are the values that a filter allows for the leading fields of the shard
// key, in all combinations, and how many fields it fixes so.
func (c *Collection) combos(f match.Node, byteOrder bool) (combos [][]bson.Value, fixed int) {
	combos = [][]bson.Value{nil}
	for _, field := range c.Key.Fields() {
		vs, ok := match.Points(f, field.Path.String())
		if !ok || len(vs)*len(combos) > combosMax ||
			slices.ContainsFunc(vs, func(v bson.Value) bool { return !positioned(v, byteOrder) }) {
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

// positioned reports that documents equal to v lie where v's position says. An
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

// Targeted reports that a filter fixes the whole shard key to one value.
func (c *Collection) Targeted(f match.Node, byteOrder bool) bool {
	combos, fixed := c.combos(f, byteOrder)
	return fixed == len(c.Key.Fields()) && len(combos) <= 1
}

// EqualPosition is where the documents lie that a filter wants of a shard key
// that it fixes to one value: the hash, and what precedes _id in their ids.
func (c *Collection) EqualPosition(f match.Node, byteOrder bool) (h keyspace.Hash, tail []byte, ok bool) {
	combos, fixed := c.combos(f, byteOrder)
	if fixed < len(c.Key.Fields()) || len(combos) != 1 {
		return 0, nil, false
	}
	if c.Key.TailParts() > 0 {
		return keyspace.HashMin, c.Key.Prefix(combos[0]...)[len(shard.HashPosition(0)):], true
	}
	return c.Key.AppendHashes(nil, combos[0]...)[0], nil, true
}

// spreadMax bounds how many ranges a filter is expanded to: the buckets of so many
// values are everywhere.
const spreadMax = 2 * shard.ShardsMax

// Ranges are where matches of a filter can lie, as far as it fixes leading fields
// of the shard key to values and bounds the next one. They ascend and do not
// touch; the whole line when nothing is known.
func (c *Collection) Ranges(f match.Node, byteOrder bool) []shard.Range {
	combos, fixed := c.combos(f, byteOrder)
	fields := c.Key.Fields()
	var out []shard.Range
	switch {
	case len(combos) == 0:
		return nil
	case fixed < len(fields) && c.Key.TailParts() > 0 && !fields[fixed].Hashed:
		out = c.bounded(f, combos, fields[fixed].Path.String(), byteOrder)
	default:
		for _, values := range combos {
			if out = append(out, c.Key.EqualRanges(values...)...); len(out) > spreadMax {
				return []shard.Range{{}}
			}
		}
	}
	return joined(out)
}

// bounded are the ranges below each combination of values in which a field lies.
func (c *Collection) bounded(f match.Node, combos [][]bson.Value, field string, byteOrder bool) (out []shard.Range) {
	ivs, ok := match.Bounded(f, field)
	for _, iv := range ivs {
		ok = ok && (byteOrder || textless(iv))
	}
	if !ok || len(ivs)*len(combos) > combosMax {
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

// textless reports an interval of values that no collation orders anew.
func textless(iv match.Interval) bool {
	for _, v := range [...]bson.Value{iv.Lo, iv.Hi} {
		switch v.Type {
		case bson.TypeString, bson.TypeSymbol, bson.TypeDocument, bson.TypeArray:
			return false
		}
	}
	return bson.Compare(iv.Lo, bson.EmptyDoc, nil) >= 0 || bson.Compare(iv.Hi, bson.EmptyDoc, nil) < 0
}

// joined puts ranges in order and makes one of those that touch.
func joined(rs []shard.Range) []shard.Range {
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
