package shard

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A bound is the form in which clients see a position between shards: a value for each field of the
// shard key, hashes as 64-bit numbers in their order, MinKey and MaxKey at the ends of the line. A
// suffix has no bound: it moves the hash of the field before. Manual:
// core/sharding-shard-key#shard-key-ranges.

// AppendBound prints the position p, where a shard begins or ends, as the fields of an open document, in the form of
// MongoDB's chunk bounds. If p is nil, each field has the value open: MinKey for the beginning of the line, MaxKey
// for its end.
func (k KeyPattern) AppendBound(b *bson.Builder, p Position, open bson.Value) {
	fields := k.Fields()[:k.Levels()]
	switch {
	case p == nil:
		for _, f := range fields {
			b.Value(f.Path.String(), open)
		}
	case k.Kind() == Ranged:
		k.appendRanged(b, p)
	default:
		for i, f := range fields {
			b.Int64(f.Path.String(), int64(k.levelOf(i, p.hash())^signBit))
		}
	}
}

// Bound returns the position p as a document, in the form that AppendBound describes.
func (k KeyPattern) Bound(p Position, open bson.Value) bson.Raw {
	b := bson.NewBuilder(nil)
	k.AppendBound(b, p, open)
	return b.Doc()
}

// signBit turns a hash, which is unsigned, into the signed number of the same rank that MongoDB's tools print.
const signBit = 1 << 63

// levelOf returns the bits of the hash h that the i-th field of the shard key determines, shifted to the top.
func (k KeyPattern) levelOf(i int, h keyspace.Hash) uint64 {
	switch n := k.p.levels; {
	case n == 1:
		return uint64(h)
	case i == 0:
		return uint64(h) >> 32 << 32
	case n == 2:
		return uint64(h) << 32
	case i == 1:
		return uint64(h) >> 16 << 48
	}
	return uint64(h) << 48
}

// appendRanged prints the values in a position of a ranged shard key. Fields that the position does not contain are
// MinKey, because the position is before all their values.
func (k KeyPattern) appendRanged(b *bson.Builder, p Position) {
	dec := keystring.NewDecoder(nil)
	rest := []byte(p[min(len(p), hashLen):])
	for _, f := range k.p.fields {
		name := f.Path.String()
		if len(rest) == 0 {
			b.Value(name, bson.MinKey)
			continue
		}
		one := bson.NewBuilder(nil)
		var err error
		if rest, err = dec.Value(one, name, rest, keystring.Ascending); err != nil {
			b.Value(name, bson.MinKey)
			rest = nil
			continue
		}
		v := one.Doc().Get(name)
		if n, ok := v.AsInt64(); f.Hashed && ok {
			b.Int64(name, n)
		} else {
			b.Value(name, v)
		}
	}
}

// ParseBound parses a bound of a shard, as AppendBound prints it: values for the leading fields of the shard key, or
// for all of them if whole. p is nil at the beginning of the line; end is true at its end.
// Errors: BadValue (2).
func (k KeyPattern) ParseBound(bound bson.Raw, whole bool) (p Position, end bool, err error) {
	var values []bson.Value
	fields := k.Fields()[:k.Levels()]
	for name, v := range bound.Fields() {
		i := len(values)
		if i >= len(fields) || string(name) != fields[i].Path.String() {
			return nil, false, notABound(k, bound)
		}
		if fields[i].Hashed && v.Type != bson.TypeMinKey && v.Type != bson.TypeMaxKey {
			if _, ok := v.AsInt64(); !ok {
				return nil, false, mongoerr.New(mongoerr.BadValue, "bound %s of shard key %s must hold the hash of '%s' as a 64-bit number, as config.chunks prints it",
					bound, k, name)
			}
		}
		values = append(values, v)
	}
	if len(values) == 0 || whole && len(values) < len(fields) {
		return nil, false, notABound(k, bound)
	}
	all := func(t bson.Type) bool {
		for _, v := range values {
			if v.Type != t {
				return false
			}
		}
		return true
	}
	if all(bson.TypeMaxKey) {
		return nil, true, nil
	}
	for n := len(values); n > 0 && values[n-1].Type == bson.TypeMinKey; n-- {
		values = values[:n-1] // a position is before everything that begins with it
	}
	switch {
	case len(values) == 0:
		return nil, false, nil
	case k.Kind() == Ranged:
		return k.rangedBound(values), false, nil
	}
	return k.hashedBound(values)
}

func notABound(k KeyPattern, bound bson.Raw) error {
	return mongoerr.New(mongoerr.BadValue, "bound %s does not hold the fields of the shard key %s, in their order", bound, k)
}

// rangedBound returns the position of a bound's values under a ranged shard key. Hashes among them are already
// numbers.
func (k KeyPattern) rangedBound(values []bson.Value) Position {
	p := HashPosition(keyspace.HashMin)
	for _, v := range values {
		if v.IsNullish() {
			v = bson.Null
		}
		p = keystring.Append(p, v, keystring.Ascending, nil, nil)
	}
	return p
}

// hashedBound returns the position of hashes of leading fields.
func (k KeyPattern) hashedBound(values []bson.Value) (p Position, end bool, err error) {
	var h keyspace.Hash
	for i, v := range values {
		n, _ := v.AsInt64()
		u := uint64(n) ^ signBit
		switch v.Type {
		case bson.TypeMinKey:
			u = 0
		case bson.TypeMaxKey:
			u = ^uint64(0)
		}
		h |= k.level(i, u)
	}
	if h == keyspace.HashMin {
		return nil, false, nil
	}
	return HashPosition(h), false, nil
}

// FindBegin returns the shard whose first position is p; nil if there is none.
func (m *Map) FindBegin(p Position) *Descriptor {
	if d := m.FindPosition(p); bytes.Equal(d.Lo, p) {
		return d
	}
	return nil
}
