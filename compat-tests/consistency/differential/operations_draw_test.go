package differential

import (
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// generator draws random documents, and operations on them (filters and updates) that the naive model implements.
// The documents have these fields:
//
//	_id   int32                       the shard key of one variant
//	s     string or missing           the shard key of another; never changed
//	n     number or missing           safe for arithmetic
//	a, b  anything or missing
//	o     {x: anything, y: number} or missing
//	l     [{x: scalar, y: scalar}, ...] or missing
//	t     [scalar, ...] or missing    safe for $push and $pull
type generator struct{ *rand.Rand }

// newGenerator returns a generator whose draws follow from seed.
func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 0))} }

// ids is the number of different _ids. It is small, so that operations often hit the same document.
const ids = 60

// scalar draws a value that is not null, and neither an array nor a document.
func (g generator) scalar() any {
	switch g.IntN(8) {
	case 0, 1:
		return g.IntN(2) == 0
	case 2:
		return bson.DateTime(g.IntN(3) * 1000)
	case 3, 4:
		return g.text()
	}
	return g.number()
}

// number draws a number; equal values of different types are frequent.
func (g generator) number() any {
	n := g.IntN(9) - 3
	switch g.IntN(4) {
	case 0:
		return int64(n)
	case 1:
		return float64(n)
	case 2:
		return float64(n) + 0.5
	}
	return int32(n)
}

// text draws a string.
func (g generator) text() string { return oneOf(g, "", "a", "ab", "b", "B", "é", "zz") }

// value draws anything.
func (g generator) value(depth int) any {
	switch k := g.IntN(12); {
	case k == 0:
		return nil
	case k < 3 && depth > 0:
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, g.value(depth-1))
		}
		return out
	case k < 4 && depth > 0:
		return bson.D{{Key: oneOf(g, "x", "y"), Value: g.value(depth - 1)}}
	}
	return g.scalar()
}

// document draws a document.
func (g generator) document() bson.D {
	doc := bson.D{{Key: "_id", Value: int32(g.IntN(ids))}}
	add := func(name string, make func() any) {
		if g.IntN(5) > 0 {
			doc = append(doc, bson.E{Key: name, Value: make()})
		}
	}
	add("s", func() any { return g.text() })
	add("n", g.number)
	add("a", func() any { return g.value(2) })
	add("b", func() any { return g.value(1) })
	add("o", func() any { return bson.D{{Key: "x", Value: g.value(1)}, {Key: "y", Value: g.number()}} })
	add("l", func() any {
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, bson.D{{Key: "x", Value: g.scalar()}, {Key: "y", Value: g.scalar()}})
		}
		return out
	})
	add("t", func() any {
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, g.scalar())
		}
		return out
	})
	return doc
}

// filter draws a filter.
func (g generator) filter(depth int) bson.D {
	if depth > 0 && g.IntN(4) == 0 {
		parts := bson.A{}
		for range 1 + g.IntN(3) {
			parts = append(parts, g.filter(depth-1))
		}
		return bson.D{{Key: oneOf(g, "$and", "$or", "$or", "$nor"), Value: parts}}
	}
	switch g.IntN(12) {
	case 0:
		return bson.D{}
	case 1:
		return bson.D{{Key: "$expr", Value: bson.D{{
			Key: oneOf(g, "$eq", "$ne", "$lt", "$lte", "$gt", "$gte"), Value: bson.A{oneOf(g, "$n", "$a", "$s"), g.scalar()}}}}}
	}
	out := bson.D{}
	paths := []string{"_id", "s", "n", "a", "b", "o.x", "o.y", "l.x", "l.y", "t"}
	g.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths[:1+g.IntN(2)] {
		out = append(out, bson.E{Key: path, Value: g.condition(path)})
	}
	return out
}

// condition draws a condition for a path.
func (g generator) condition(path string) any {
	operand := g.scalar
	if path == "_id" {
		operand = func() any { return int32(g.IntN(ids)) }
	}
	top := len(path) == 1
	switch g.IntN(14) {
	case 0, 1:
		if top && g.IntN(3) == 0 {
			return g.value(1) // arrays, documents and null too
		}
		return operand()
	case 2:
		return bson.D{{Key: "$ne", Value: operand()}}
	case 3:
		return bson.D{{Key: oneOf(g, "$in", "$nin"), Value: bson.A{operand(), operand(), operand()}}}
	case 4:
		return bson.D{{Key: "$exists", Value: g.IntN(2) == 0}}
	case 5:
		if path == "_id" {
			return bson.D{{Key: "$gte", Value: operand()}}
		}
		return bson.D{{Key: "$size", Value: int32(g.IntN(4))}}
	case 6:
		return bson.D{{Key: "$all", Value: bson.A{operand(), operand()}}}
	case 7:
		if path == "l" || path == "t" || path == "a" {
			return bson.D{{Key: "$elemMatch", Value: bson.D{{Key: "$gte", Value: g.number()}, {Key: "$lt", Value: g.number()}}}}
		}
		return bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: operand()}}}}
	case 8:
		return bson.D{{Key: "$mod", Value: bson.A{int32(2 + g.IntN(3)), int32(g.IntN(2))}}}
	case 9:
		return bson.D{{Key: "$regex", Value: oneOf(g, "^a", "^ab", "^b", "^z")}}
	case 10:
		return bson.D{{Key: "$not", Value: bson.D{{Key: "$in", Value: bson.A{operand(), operand()}}}}}
	}
	out := bson.D{{Key: oneOf(g, "$lt", "$lte", "$gt", "$gte"), Value: operand()}}
	if g.IntN(2) == 0 {
		second := oneOf(g, "$lt", "$lte", "$gt", "$gte")
		if second != out[0].Key {
			out = append(out, bson.E{Key: second, Value: operand()})
		}
	}
	return out
}

// update draws an update that cannot fail on any document.
func (g generator) update() bson.D {
	out := bson.D{}
	// Each operator has a path of its own, so that the operators of one update do not conflict.
	choices := []func() bson.E{
		func() bson.E { return operation("$set", oneOf(g, "a", "b"), g.value(2)) },
		func() bson.E { return operation("$set", "o.x", g.value(1)) },
		func() bson.E { return operation("$unset", oneOf(g, "a", "b", "l"), "") },
		func() bson.E { return operation("$inc", oneOf(g, "n", "o.y"), g.number()) },
		func() bson.E { return operation("$mul", "n", oneOf[any](g, int32(0), int32(1), int32(-1), 0.5)) },
		func() bson.E { return operation(oneOf(g, "$min", "$max"), oneOf(g, "a", "b"), g.scalar()) },
		func() bson.E { return operation(oneOf(g, "$push", "$addToSet", "$pull"), "t", g.scalar()) },
		func() bson.E { return operation("$rename", "a", "b") },
	}
	used := map[string]bool{}
	for range 1 + g.IntN(2) {
		e := choices[g.IntN(len(choices))]()
		path := e.Value.(bson.D)[0].Key[:1]
		if e.Key == "$rename" {
			path = "a"
			if used["b"] {
				continue
			}
		}
		if used[path] || used[e.Key] || used["$rename"] && path == "b" {
			continue
		}
		used[path], used[e.Key] = true, true
		out = append(out, e)
	}
	return out
}

// operation makes {operator: {path: argument}}.
func operation(operator, path string, argument any) bson.E {
	return bson.E{Key: operator, Value: bson.D{{Key: path, Value: argument}}}
}
