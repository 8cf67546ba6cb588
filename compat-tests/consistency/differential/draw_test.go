package differential

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// drawer draws random documents and queries. The documents have these fields:
//
//	_id      anything that may be one
//	k        a number that follows from the place of the document: a shard key that upserts can name
//	n, s     a number, a string, or missing; n of large sets has few values, of very different counts
//	a, b, c  anything or missing
//	g, p     a geometry, a legacy point or missing
//	t        words or missing
//	at       a date, in dated sets only
type drawer struct {
	*rand.Rand
	large bool // many small documents rather than a few odd ones
	odd   bool // undefined, empty names and the like too
	dated bool
	// common is the key pattern of the index that all ways of storage with indexes have; nil if there is no such
	// index.
	common bson.D
}

// oneOf draws one of some values.
func oneOf[T any](d interface{ IntN(n int) int }, of ...T) T { return of[d.IntN(len(of))] }

// Reports true once in n times.
func (d drawer) rarely(n int) bool { return d.IntN(n) == 0 }

// keys is the number of values of k.
const keys = 5

// id draws the _id of the i-th document. No two _ids are equal, whatever their types.
func (d drawer) id(i int) any {
	switch d.IntN(12) {
	case 0:
		return "i" + strconv.Itoa(i)
	case 1:
		return bson.D{{Key: "a", Value: int32(i)}}
	case 2:
		return float64(i) + 0.5
	case 3:
		return int64(i)
	case 4:
		return bson.ObjectID{11: byte(i), 10: byte(i >> 8)}
	case 5:
		return bson.DateTime(i * 1000)
	}
	return int32(i)
}

// number draws a number; equal values of different types are frequent.
func (d drawer) number() any {
	n := d.IntN(7) - 2
	switch d.IntN(14) {
	case 0, 1:
		return int64(n)
	case 2, 3:
		return float64(n)
	case 4:
		return float64(n) + 0.5
	case 5:
		return decimal(strconv.Itoa(n))
	case 6:
		return oneOf[any](d, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), decimal("NaN"), decimal("-0"), decimal("1.50"), int64(math.MaxInt64), float64(1<<53), 1e300)
	}
	return int32(n)
}

// decimal parses a decimal number.
func decimal(s string) bson.Decimal128 {
	out, err := bson.ParseDecimal128(s)
	if err != nil {
		panic(err)
	}
	return out
}

// text draws a string.
func (d drawer) text() string { return oneOf(d, "", "a", "A", "ab", "aB", "b", "é", "e", "Éa", "zz") }

// scalar draws a value that is neither an array nor a document.
func (d drawer) scalar() any {
	switch d.IntN(16) {
	case 0:
		return d.IntN(2) == 0
	case 1:
		return bson.DateTime(d.IntN(3) * 1000)
	case 2, 3, 4:
		return d.text()
	case 5:
		return nil
	case 6:
		if d.odd {
			return oneOf[any](d, bson.Undefined{}, bson.MinKey{}, bson.MaxKey{}, bson.Regex{Pattern: "^a"}, bson.Timestamp{T: 1}, bson.Undefined{})
		}
		return oneOf[any](d, bson.ObjectID{11: byte(d.IntN(3))}, bson.Binary{Data: []byte{byte(d.IntN(3))}}, bson.Timestamp{T: uint32(d.IntN(2)), I: 1})
	}
	return d.number()
}

// fieldName draws the name of an inner field.
func (d drawer) fieldName() string {
	if d.odd && d.rarely(6) {
		return ""
	}
	return oneOf(d, "a", "b", "b", "c", "0", "1")
}

// nested draws a value with arrays in arrays and numbers as field names. There are few different values, so that
// equal ones are frequent.
func (d drawer) nested() any {
	if d.odd && d.rarely(3) {
		return oneOf[any](d, one("", int32(1)), bson.A{one("", int32(1))}, one("", one("b", int32(1))))
	}
	return oneOf[any](d, int32(1), bson.A{int32(1)}, bson.A{bson.A{int32(1)}}, bson.A{bson.A{int32(1), int32(2)}}, bson.A{bson.A{one("b", int32(1))}},
		bson.A{one("b", int32(1)), bson.A{}}, one("0", int32(1)), one("b", bson.A{bson.A{int32(1)}}), bson.A{one("b", bson.A{int32(1)})}, bson.A{one("0", bson.A{int32(1)})})
}

// value draws anything.
func (d drawer) value(depth int) any {
	if depth > 1 && d.rarely(4) {
		return d.nested()
	}
	if depth > 0 {
		switch d.IntN(5) {
		case 0, 1:
			out := bson.A{}
			for range d.IntN(4) {
				out = append(out, d.value(depth-1))
			}
			return out
		case 2:
			out := bson.D{}
			for range d.IntN(3) {
				out = put(out, d.fieldName(), d.value(depth-1))
			}
			return out
		}
	}
	return d.scalar()
}

// put sets a field.
func put(doc bson.D, name string, value any) bson.D {
	for i := range doc {
		if doc[i].Key == name {
			doc[i].Value = value
			return doc
		}
	}
	return append(doc, bson.E{Key: name, Value: value})
}

// document draws the i-th document.
func (d drawer) document(i int) bson.D {
	doc := bson.D{{Key: "_id", Value: d.id(i)}, {Key: "k", Value: int32(i % keys)}}
	add := func(name string, in int, make func() any) {
		if d.IntN(in) > 0 {
			doc = append(doc, bson.E{Key: name, Value: make()})
		}
	}
	if d.dated {
		doc = append(doc, bson.E{Key: "at", Value: d.date()})
	}
	if d.large {
		doc[0].Value = int32(i)
		rare := func() any {
			if d.rarely(40) {
				return int32(1)
			}
			return int32(2 + d.IntN(2))
		}
		add("n", 20, rare)
		add("a", 20, rare)
		add("b", 20, func() any { return oneOf[any](d, int32(1), bson.A{int32(2), int32(3)}, int32(2)) })
		add("s", 10, func() any { return d.text() })
		return doc
	}
	add("n", 6, d.number)
	add("s", 6, func() any { return d.text() })
	add("a", 6, func() any { return d.value(3) })
	add("b", 5, func() any { return d.value(2) })
	add("c", 3, func() any { return d.value(1) })
	if d.rarely(2) {
		doc = append(doc, bson.E{Key: "g", Value: d.geometry()}, bson.E{Key: "p", Value: d.point()})
	}
	if d.rarely(2) {
		doc = append(doc, bson.E{Key: "t", Value: strings.Join([]string{d.word(), d.word(), d.word()}, " ")})
	}
	if d.odd && d.rarely(20) {
		doc = append(doc, bson.E{Key: "", Value: d.value(1)})
	}
	return doc
}

// word draws a word of a text.
func (d drawer) word() string { return oneOf(d, "red", "green", "blue", "house", "trees") }

// point draws a legacy point.
func (d drawer) point() any { return bson.A{float64(d.IntN(20)), float64(d.IntN(20))} }

// geometry draws GeoJSON.
func (d drawer) geometry() any {
	x, y := float64(d.IntN(20)), float64(d.IntN(20))
	if d.rarely(3) {
		return polygon(x, y, float64(1+d.IntN(4)))
	}
	return bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{x, y}}}
}

// polygon returns a square.
func polygon(x, y, side float64) bson.D {
	ring := bson.A{}
	for _, at := range [][2]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}} {
		ring = append(ring, bson.A{x + side*at[0], y + side*at[1]})
	}
	return bson.D{{Key: "type", Value: "Polygon"}, {Key: "coordinates", Value: bson.A{ring}}}
}

// date draws a time within some days around 1970, and rarely one so far away that a time-series collection stores it at
// the position of others.
func (d drawer) date() bson.DateTime {
	if d.rarely(20) {
		return bson.DateTime(oneOf(d, math.MinInt64, -1<<60, -1<<51, 1<<51-1, 1<<51, math.MaxInt64))
	}
	return bson.DateTime((d.IntN(200) - 20) * 1_800_000)
}

// path draws a path.
func (d drawer) path() string {
	if d.dated && d.rarely(5) {
		return "at"
	}
	if d.large {
		return oneOf(d, "n", "a", "b", "s", "_id", "k")
	}
	if d.odd && d.rarely(12) {
		return oneOf(d, "", "a.", "b..a", "a.b.")
	}
	return oneOf(d, "_id", "k", "n", "n", "s", "s", "a", "a", "a", "b", "b", "c", "a.b", "a.b", "a.a", "a.c", "b.a", "b.b", "c.b", "a.0", "a.0", "a.1", "b.0", "a.0.b", "a.0.0", "a.1.b", "a.b.0", "a.b.c", "b.0.a", "c.0")
}

// Returns a filter or document of one field.
func one(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

// operand draws a value that a path is compared with.
func (d drawer) operand(path string) any {
	switch {
	case path == "_id":
		return d.id(d.IntN(40))
	case path == "k":
		return int32(d.IntN(keys))
	case path == "at" && d.IntN(8) > 0:
		return d.date()
	case d.large:
		return oneOf[any](d, int32(1), int32(2), int32(3))
	case path == "s":
		return d.text()
	}
	v := d.scalar()
	if d.rarely(4) {
		v = d.value(2)
	}
	switch v.(type) {
	case bson.Undefined, bson.Regex, bson.Symbol: // these cause errors, or have other meanings
		return d.number()
	}
	return v
}

// list draws operands.
func (d drawer) list(path string) bson.A {
	out := bson.A{}
	for range 1 + d.IntN(3) {
		out = append(out, d.operand(path))
	}
	return out
}

// regex draws a regular expression.
func (d drawer) regex() bson.Regex {
	return bson.Regex{Pattern: oneOf(d, "^a", "b$", "^ab", "a", "^", "a.*b", "[ab]b$", "é"), Options: oneOf(d, "", "", "i")}
}

// typeName draws an operand of $type.
func (d drawer) typeName() string {
	return oneOf(d, "number", "int", "double", "string", "array", "object", "null", "bool", "date", "decimal", "objectId")
}

// order draws an operator that compares.
func (d drawer) order() string { return oneOf(d, "$lt", "$lte", "$gt", "$gte") }

// condition draws a condition for a path.
func (d drawer) condition(path string, depth int) any {
	if d.odd && d.rarely(8) { // finds documents that have only empty names
		return oneOf[any](d, one("$exists", true), one("$ne", nil), one("$exists", true))
	}
	switch d.IntN(18) {
	case 0, 1, 2, 3:
		return d.operand(path)
	case 4:
		return one("$ne", d.operand(path))
	case 5:
		return one(oneOf(d, "$in", "$in", "$nin"), d.list(path))
	case 6:
		return one("$exists", d.rarely(2))
	case 7:
		return one("$type", d.typeName())
	case 8:
		return one("$all", d.list(path))
	case 9:
		return one("$size", int32(d.IntN(3)))
	case 10, 11:
		if depth > 0 {
			return one("$elemMatch", d.elemMatch(path, depth))
		}
		return one("$exists", true)
	case 12:
		if c, ok := d.condition(path, depth-1).(bson.D); ok && len(c) > 0 && strings.HasPrefix(c[0].Key, "$") {
			return one("$not", c)
		}
		return one("$not", one(d.order(), d.operand(path)))
	case 13:
		if d.rarely(2) {
			return one("$mod", bson.A{int32(2 + d.IntN(2)), int32(d.IntN(2))})
		}
		return one(oneOf(d, "$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"), int32(1+d.IntN(3)))
	case 14:
		if d.rarely(2) {
			return d.regex()
		}
		return one("$in", bson.A{d.regex(), d.operand(path)})
	}
	out := one(d.order(), d.operand(path))
	if d.rarely(2) {
		if second := d.order(); second != out[0].Key {
			out = append(out, bson.E{Key: second, Value: d.operand(path)})
		}
	}
	return out
}

// elemMatch draws the operand of $elemMatch.
func (d drawer) elemMatch(path string, depth int) bson.D {
	if d.rarely(2) {
		out := bson.D{}
		for range 1 + d.IntN(3) { // several conditions on one element bound several fields of an index
			inner := oneOf(d, "a", "b", "b", "0", "b.0", "b.b", "c")
			out = put(out, inner, d.condition(inner, depth-1))
		}
		return out
	}
	for {
		if c, ok := d.condition(path, depth-1).(bson.D); ok && len(c) > 0 && strings.HasPrefix(c[0].Key, "$") {
			return c
		}
	}
}

// filter draws a filter.
func (d drawer) filter(depth int) bson.D {
	if depth > 0 && d.rarely(4) {
		parts := bson.A{}
		for range 1 + d.IntN(3) {
			parts = append(parts, d.filter(depth-1))
		}
		return one(oneOf(d, "$and", "$or", "$or", "$nor"), parts)
	}
	switch d.IntN(20) {
	case 0:
		return bson.D{}
	case 1, 2, 3, 4, 5, 6:
		if d.large { // several indexes serve it
			return bson.D{{Key: "n", Value: d.operand("n")}, {Key: "a", Value: d.operand("a")}}
		}
	case 7:
		return one("$expr", d.expression(1))
	case 8:
		if d.rarely(2) {
			return d.inequalities()
		}
	}
	out := bson.D{}
	for range 1 + d.IntN(2) {
		path := d.path()
		out = put(out, path, d.condition(path, 2))
	}
	if depth > 0 && d.rarely(6) { // conditions beside an $or bound its branches too
		out = append(out, bson.E{Key: "$or", Value: bson.A{d.filter(0), d.filter(0)}})
	}
	return out
}

// expression draws an aggregation expression that compares fields with constants.
func (d drawer) expression(depth int) bson.D {
	path := "$" + oneOf(d, "n", "n", "a", "s", "b", "k", "a.b", "b.a")
	value := func() any { return oneOf[any](d, d.number(), d.number(), d.text(), nil) }
	switch d.IntN(6) {
	case 0:
		if depth > 0 {
			return one(oneOf(d, "$and", "$or"), bson.A{d.expression(depth - 1), d.expression(depth - 1)})
		}
	case 1:
		list := bson.A{value(), value(), value()}
		for range 8 * d.IntN(2) { // a longer list is searched in sorted order
			list = append(list, value())
		}
		return one("$in", bson.A{path, list})
	}
	return one(oneOf(d, "$eq", "$ne", "$lt", "$lte", "$gt", "$gte"), bson.A{path, value()})
}

// inequalities draws a filter of so many inequalities on one path that they are planned as one $nin.
func (d drawer) inequalities() bson.D {
	path, parts := d.path(), bson.A{}
	for range 16 + d.IntN(4) {
		parts = append(parts, one(path, one("$ne", d.operand(path))))
	}
	return one("$and", parts)
}

// region draws a filter by geometry, which can be answered by a scan and by some kinds of index only.
func (d drawer) region() bson.D {
	x, y, side := float64(d.IntN(15)), float64(d.IntN(15)), float64(1+d.IntN(10))
	switch d.IntN(4) {
	case 0:
		return one("g", one("$geoWithin", one("$geometry", polygon(x+0.3, y+0.3, side))))
	case 1:
		return one("g", one("$geoIntersects", one("$geometry", polygon(x+0.3, y+0.3, side))))
	case 2:
		return one("g", one("$geoWithin", one("$centerSphere", bson.A{bson.A{x, y}, side / 57})))
	}
	return one("p", one("$geoWithin", one("$box", bson.A{bson.A{x, y}, bson.A{x + side, y + side}})))
}

// direction draws 1 or -1.
func (d drawer) direction() int32 { return oneOf(d, int32(1), int32(-1)) }

// sort draws a unique order.
func (d drawer) sort() bson.D {
	if n := len(d.common); n > 0 && d.common[n-1].Key == "_id" && d.rarely(2) {
		if d.rarely(2) {
			return turned(d.common)
		}
		return d.common
	}
	out := bson.D{}
	for range d.IntN(3) {
		if path := d.path(); path != "_id" && !strings.HasSuffix(path, ".") && path != "" && !strings.Contains(path, "..") {
			out = put(out, path, d.direction())
		}
	}
	// A sort by two fields that are both arrays is an error only if a document with both is read, so this test does
	// not draw it.
	if len(out) > 1 && out[0].Key != "n" && out[0].Key != "s" && out[0].Key != "k" {
		out = out[:1]
	}
	return append(out, bson.E{Key: "_id", Value: d.direction()})
}
