package match

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
)

// Equalities calls add for each path that a matching document must have equal to one value, in the order of the
// filter: for plain equalities, also under $and, and for $in and $all of one member, $or of one or of equal clauses. An upsert creates its
// document from them; the caller checks for paths that are repeated or contain each other. Manual:
// reference/method/db.collection.update#upsert-with-dotted-_id-query.
func Equalities(n Node, add func(p string, v bson.Value)) {
	switch n := n.(type) {
	case *And:
		for _, c := range n.list {
			Equalities(c, add)
		}
	case *Or:
		if sameClauses(n.list) {
			Equalities(n.list[0], add)
		}
	case *Leaf:
		if v, ok := singleValue(n); ok {
			add(n.path.String(), v)
		}
	}
}

// sameClauses reports whether all clauses of a list are printed alike.
func sameClauses(list []Node) bool {
	if len(list) == 0 {
		return false
	}
	first := String(list[0])
	return !slices.ContainsFunc(list[1:], func(n Node) bool { return !bytes.Equal(String(n), first) })
}

func singleValue(l *Leaf) (bson.Value, bool) {
	switch p := l.pred.(type) {
	case *comparison:
		return p.with, p.rel == opEqual
	case *in:
		if len(p.values) == 1 && len(p.regexes) == 0 {
			return p.values[0], true
		}
	}
	return bson.Value{}, false
}

// Points returns the values that the path can have in matching documents: every match has one of them, under simple
// string comparison; ok is false if the filter does not determine them. An empty list with ok means that nothing can
// match. Shard targeting calls Points with each field of the shard key, which cannot hold arrays. For a comparison
// with an array, or with text under a collation, which other values match too, ok is false. null also represents a
// missing field and undefined.
func Points(n Node, path string) (values []bson.Value, ok bool) {
	switch n := n.(type) {
	case Always:
		return nil, !bool(n)
	case *And:
		for _, c := range n.list {
			v, found := Points(c, path)
			switch {
			case found && ok:
				values = common(values, v)
			case found:
				values, ok = v, true
			}
		}
	case *Or:
		for _, c := range n.list {
			v, found := Points(c, path)
			if !found {
				return nil, false
			}
			values = append(values, v...)
		}
		return values, true
	case *Leaf:
		if n.path.String() != path {
			return nil, false
		}
		list, rules, found := equalTo(n)
		if !found {
			return nil, false
		}
		for _, v := range list {
			if rules.order != nil && hasText(v) || v.Type == bson.TypeArray {
				return nil, false
			}
		}
		return list, true
	}
	return values, ok
}

// common returns the values of a that are also in b, the intersection for Points. null and undefined count as equal.
func common(a, b []bson.Value) (out []bson.Value) {
	plain := func(v bson.Value) bson.Value {
		if v.IsNullish() {
			return bson.Null
		}
		return v
	}
	order := func(v, w bson.Value) int { return bson.Compare(plain(v), plain(w), nil) }
	b = slices.Clone(b)
	slices.SortFunc(b, order)
	for _, v := range a {
		if _, found := slices.BinarySearchFunc(b, v, order); found {
			out = append(out, v)
		}
	}
	return out
}

// hasText reports whether a comparison with the value v depends on the collation: v is or contains a string.
func hasText(v bson.Value) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		return true
	case bson.TypeDocument, bson.TypeArray:
		for e := range bson.Raw(v.Data).Values() {
			if hasText(e) {
				return true
			}
		}
	}
	return false
}
