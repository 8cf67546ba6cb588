package differential

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// index is an index as createIndexes takes it.
type index bson.D

// key returns the key pattern.
func (x index) key() bson.D { return get(bson.D(x), "key").(bson.D) }

// name returns the name.
func (x index) name() string { return get(bson.D(x), "name").(string) }

// has reports whether an option is set.
func (x index) has(option string) bool {
	_, absent := get(bson.D(x), option).(missing)
	return !absent
}

// plain reports whether the index may be the hint of every query, because it contains every document.
func (x index) plain() bool {
	for _, e := range x.key() {
		if _, ok := e.Value.(int32); !ok || strings.Contains(e.Key, "$**") {
			return false
		}
	}
	return !x.has("sparse") && !x.has("partialFilterExpression") && !x.has("hidden") && !x.has("collation")
}

// indexes draws some indexes.
func (d drawer) indexes() (out []index) {
	n := 1 + d.IntN(4)
	if d.rarely(4) {
		n += 5
	}
	for len(out) < n {
		x := append(d.index(), bson.E{Key: "name", Value: fmt.Sprintf("i%d", len(out))})
		if !slices.ContainsFunc(out, func(o index) bool { return js(o.key()) == js(x.key()) }) {
			out = append(out, x)
		}
	}
	return out
}

// index draws an index.
func (d drawer) index() index {
	key := bson.D{}
	if d.large && d.rarely(2) {
		return index{{Key: "key", Value: one(oneOf(d, "n", "a", "b"), d.direction())}}
	}
	switch d.IntN(16) {
	case 0, 1:
		key = one("$**", d.direction())
	case 2:
		if d.rarely(2) { // no value is an array
			return index{{Key: "key", Value: one("$**", d.direction())}, {Key: "wildcardProjection", Value: bson.D{{Key: "n", Value: int32(1)}, {Key: "s", Value: int32(1)}, {Key: "k", Value: int32(1)}}}}
		}
		key = one(oneOf(d, "a", "b", "a.b", "c")+".$**", d.direction())
	case 3:
		if d.rarely(2) {
			return index{{Key: "key", Value: bson.D{{Key: oneOf(d, "n", "s", "k"), Value: d.direction()}, {Key: oneOf(d, "a", "b", "c") + ".$**", Value: d.direction()}}}}
		}
		return index{{Key: "key", Value: bson.D{{Key: oneOf(d, "a", "b", "c") + ".$**", Value: d.direction()}, {Key: oneOf(d, "n", "s", "k"), Value: d.direction()}}}}
	case 4:
		key = one(oneOf(d, "n", "s", "k", "_id"), "hashed")
		if d.rarely(2) {
			key = append(key, bson.E{Key: oneOf(d, "c", "a.b", "a.0"), Value: d.direction()})
		}
		return index{{Key: "key", Value: key}}
	case 5:
		switch d.IntN(4) {
		case 0:
			return index{{Key: "key", Value: one("g", "2dsphere")}}
		case 1:
			return index{{Key: "key", Value: bson.D{{Key: oneOf(d, "n", "a", "s"), Value: d.direction()}, {Key: "g", Value: "2dsphere"}}}}
		case 2:
			return index{{Key: "key", Value: one("p", "2d")}}
		}
		return index{{Key: "key", Value: one("t", "text")}}
	default:
		for range 1 + d.IntN(3) {
			if path := d.path(); !strings.HasSuffix(path, ".") && path != "" && !strings.Contains(path, "..") {
				key = put(key, path, d.direction())
			}
		}
		if len(key) == 0 || len(key) == 1 && key[0].Key == "_id" {
			key = one(oneOf(d, "a.0", "a.b", "n"), d.direction())
		}
	}
	x := index{{Key: "key", Value: key}}
	if d.rarely(3) {
		if _, absent := get(key, "_id").(missing); !absent { // unique, because _id is
			x = append(x, bson.E{Key: "unique", Value: true})
		}
	}
	switch d.IntN(10) {
	case 0:
		if !strings.Contains(js(key), "$**") {
			x = append(x, bson.E{Key: "sparse", Value: true})
		}
	case 1, 2:
		x = append(x, bson.E{Key: "partialFilterExpression", Value: d.partial()})
	case 3:
		x = append(x, bson.E{Key: "collation", Value: d.collation()})
	case 4:
		x = append(x, bson.E{Key: "hidden", Value: true})
	}
	return x
}

// partial draws the filter of a partial index.
func (d drawer) partial() bson.D {
	path := oneOf(d, "n", "s", "a", "b", "a.b", "k")
	switch d.IntN(6) {
	case 0:
		return one(path, one("$exists", true))
	case 1:
		return one(path, one("$type", d.typeName()))
	case 2:
		return one(path, one("$in", d.list(path)))
	case 3:
		return one("$or", bson.A{one(path, d.operand(path)), one("n", one(d.order(), d.number()))})
	case 4:
		return one(path, d.operand(path))
	}
	return one(path, one(d.order(), d.operand(path)))
}

// collation draws a collation.
func (d drawer) collation() bson.D {
	return bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: int32(1 + d.IntN(2))}}
}
