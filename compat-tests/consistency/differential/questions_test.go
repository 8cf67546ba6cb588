package differential

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// question draws a question.
func (d drawer) question(needs bool) *question {
	switch {
	case d.common != nil && d.rarely(8):
		return d.bounded()
	case d.rarely(14):
		return d.ofElements()
	case d.rarely(8):
		return d.onKeys()
	}
	q := &question{kind: "find", filter: d.filter(2)}
	if !d.large && d.rarely(12) {
		q.filter = d.region()
	}
	if d.rarely(8) {
		q.collation = d.collation()
	}
	switch k := d.IntN(20); {
	case needs && k < 2:
		return d.needing()
	case k < 9:
		if d.rarely(2) {
			q.sort = d.sort()
			if d.rarely(2) {
				q.skip, q.limit = int64(d.IntN(4)), int64(d.IntN(12))
			}
		}
		if d.rarely(4) {
			for q.projection == nil || q.sort == nil && strings.Contains(js(q.projection), "sortKey") {
				q.projection = d.projection()
			}
		}
	case k < 11:
		q.kind = "count"
		if d.rarely(4) {
			q.skip, q.limit = int64(d.IntN(4)), int64(d.IntN(12))
		}
	case k < 12:
		q.kind, q.key = "distinct", d.path()
	default:
		q = d.aggregate()
	}
	return q
}

// onKeys draws a question that the keys of an index may answer: it reads one field and has conditions on two or three.
func (d drawer) onKeys() *question {
	fields := []string{oneOf(d, "n", "s", "k"), oneOf(d, "n", "s", "k", "a", "b", "a.b")}
	if d.common != nil && d.rarely(2) {
		fields = nil
		for _, e := range d.common {
			fields = append(fields, e.Key)
		}
	}
	filter := bson.D{}
	for _, f := range fields {
		switch d.IntN(6) {
		case 0, 1:
			filter = put(filter, f, d.condition(f, 0))
		case 2: // different elements of an array may satisfy the two
			filter = put(filter, f, bson.D{{Key: oneOf(d, "$gt", "$gte"), Value: int32(d.IntN(3))}, {Key: oneOf(d, "$lt", "$lte"), Value: int32(1 + d.IntN(3))}})
		}
	}
	if d.rarely(4) {
		filter = append(filter, bson.E{Key: "$expr", Value: d.expression(1)})
	}
	key := fields[d.IntN(len(fields))]
	switch d.IntN(6) {
	case 0:
		return &question{kind: "count", filter: filter}
	case 1:
		return &question{kind: "aggregate", pipeline: bson.A{one("$match", filter), one("$group", one("_id", "$"+key))}}
	case 2, 3:
		return &question{kind: "find", filter: filter, projection: put(bson.D{{Key: "_id", Value: int32(0)}}, key, int32(1))}
	}
	return &question{kind: "distinct", filter: filter, key: key}
}

// needing draws a question that requires an index.
func (d drawer) needing() *question {
	near := bson.D{{Key: "$geometry", Value: bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{float64(d.IntN(20)), 5.0}}}}, {Key: "$maxDistance", Value: float64(100000 * (1 + d.IntN(10)))}}
	q := &question{kind: "find", needs: true}
	switch d.IntN(4) {
	case 0, 1:
		search := d.word()
		if d.rarely(2) {
			search += " " + oneOf(d, "-", "", "\"") + d.word()
		}
		if strings.Contains(search, "\"") {
			search += "\""
		}
		q.filter = one("$text", one("$search", search))
		if d.rarely(3) {
			q.sort = bson.D{{Key: "_id", Value: d.direction()}}
		}
	case 2:
		q.filter = one("g", one("$near", near))
	default:
		q.filter = one("p", one("$near", bson.A{float64(d.IntN(20)), float64(d.IntN(20))}))
	}
	if d.rarely(2) {
		path := oneOf(d, "n", "s", "a")
		q.filter = append(q.filter, bson.E{Key: path, Value: d.condition(path, 1)})
	}
	return q
}

// projection draws fields.
func (d drawer) projection() bson.D {
	switch d.IntN(5) {
	case 0:
		return bson.D{{Key: oneOf(d, "a", "b", "a.b", "s"), Value: int32(0)}}
	case 1:
		return bson.D{{Key: "x", Value: one("$ifNull", bson.A{"$" + oneOf(d, "a", "a.b", "n"), "none"})}, {Key: "s", Value: int32(1)}}
	case 2:
		return bson.D{{Key: "a", Value: one("$slice", int32(1+d.IntN(2)))}}
	case 3:
		return bson.D{{Key: "s", Value: int32(1)}, {Key: "key", Value: one("$meta", "sortKey")}}
	}
	out := bson.D{{Key: "_id", Value: int32(d.IntN(2))}}
	for _, group := range [][]string{{"a", "a.b", "a.a"}, {"n"}, {"s"}, {"b", "b.a"}} {
		if d.rarely(2) {
			out = append(out, bson.E{Key: group[d.IntN(len(group))], Value: int32(1)})
		}
	}
	if len(out) == 1 {
		out = append(out, bson.E{Key: "k", Value: int32(1)})
	}
	return out
}

// aggregate draws a pipeline.
func (d drawer) aggregate() *question {
	p := &pipe{drawer: d, unique: true}
	if d.IntN(4) > 0 {
		p.add("$match", d.filter(2))
	}
	for range 1 + d.IntN(3) {
		p.stage()
	}
	q := &question{kind: "aggregate", pipeline: p.stages, ordered: p.ordered}
	if d.rarely(8) {
		q.collation = d.collation()
	}
	return q
}

// pipe is a pipeline that is drawn.
type pipe struct {
	drawer
	stages  bson.A
	unique  bool // every row has an _id of its own
	ordered bool
	joined  bool // documents were joined, and each pair is a row
}

// everyRow is a limit that no result reaches.
const everyRow = 1_000_000

func (p *pipe) add(name string, argument any) { p.stages = append(p.stages, one(name, argument)) }

// reference draws a path as an expression: without empty names.
func (p *pipe) reference() string {
	for {
		if path := p.path(); !strings.HasSuffix(path, ".") && path != "" && !strings.Contains(path, "..") {
			return "$" + path
		}
	}
}

// arrange adds a sort with a unique order.
func (p *pipe) arrange() {
	p.add("$sort", p.sort())
	p.ordered = true
}

// stage draws another stage.
func (p *pipe) stage() {
	switch p.IntN(20) {
	case 0, 1, 2:
		p.add("$match", p.filter(1))
	case 3, 4:
		if p.unique {
			p.arrange()
			if p.rarely(2) {
				p.add("$skip", int64(p.IntN(4)))
				p.add("$limit", int64(1+p.IntN(12)))
			}
		}
	case 5:
		fields := p.drawer.projectStage()
		p.unique = p.unique && !strings.Contains(js(fields), "_id: 0")
		p.add("$project", fields)
	case 6:
		p.add("$set", bson.D{{Key: oneOf(p.drawer, "x", "a", "c.b"), Value: p.expression()}})
	case 7:
		p.add("$unset", oneOf(p.drawer, "a", "b", "a.b", "s"))
	case 8:
		p.unwind()
	case 9, 10, 11:
		p.group()
	case 12, 13:
		p.lookup()
	case 14:
		p.add("$unionWith", bson.D{{Key: "coll", Value: other{}}, {Key: "pipeline", Value: bson.A{one("$match", p.filter(1))}}})
		p.unique, p.ordered = false, false
	case 15:
		p.add("$facet", bson.D{{Key: "x", Value: bson.A{one("$match", p.filter(1)), one("$count", "n")}}, {Key: "y", Value: bson.A{one("$match", p.filter(0)), one("$group", bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: one("$sum", 1)}})}}})
		p.unique, p.ordered = false, true
	case 16:
		switch p.IntN(3) {
		case 0:
			p.add("$sortByCount", p.reference())
		case 1:
			p.add("$bucketAuto", bson.D{{Key: "groupBy", Value: "$k"}, {Key: "buckets", Value: int32(1 + p.IntN(4))}})
		default:
			p.add("$bucket", bson.D{{Key: "groupBy", Value: "$" + oneOf(p.drawer, "n", "k", "a")}, {Key: "boundaries", Value: bson.A{-1, 1.5, int64(3)}}, {Key: "default", Value: "else"}})
		}
		p.unique, p.ordered = false, false
	case 17:
		if p.unique {
			p.window()
		}
	case 18:
		p.add("$graphLookup", bson.D{{Key: "from", Value: other{}}, {Key: "startWith", Value: "$" + oneOf(p.drawer, "n", "k", "s")}, {Key: "connectFromField", Value: oneOf(p.drawer, "n", "k")}, {Key: "connectToField", Value: oneOf(p.drawer, "n", "k", "s", "a")}, {Key: "as", Value: "r"}, {Key: "maxDepth", Value: int32(p.IntN(3))}})
		p.add("$set", one("r", one("$sortArray", bson.D{{Key: "input", Value: "$r._id"}, {Key: "sortBy", Value: int32(1)}})))
	default:
		if p.unique && !p.ordered {
			p.arrange()
			p.add("$project", bson.D{{Key: "key", Value: one("$meta", "sortKey")}})
		} else {
			p.add("$replaceWith", bson.D{{Key: "_id", Value: "$_id"}, {Key: "x", Value: p.expression()}})
		}
	}
}

// projectStage draws the fields of $project.
func (d drawer) projectStage() bson.D {
	for {
		p := d.projection()
		if !strings.Contains(js(p), "$slice") && !strings.Contains(js(p), "$meta") {
			return p
		}
	}
}

// expression draws an expression that cannot fail.
func (p *pipe) expression() any {
	switch p.IntN(6) {
	case 0:
		return one("$cond", bson.A{one(p.order(), bson.A{p.reference(), p.number()}), p.reference(), p.text()})
	case 1:
		return one("$isNumber", p.reference())
	case 2:
		return one("$ifNull", bson.A{p.reference(), p.reference(), int32(0)})
	case 3:
		return bson.A{p.reference(), p.reference()}
	case 4:
		return one("$cmp", bson.A{p.reference(), p.reference()})
	}
	return p.reference()
}

// unwind draws $unwind.
func (p *pipe) unwind() {
	u := bson.D{{Key: "path", Value: "$" + oneOf(p.drawer, "a", "b", "a.b", "c")}}
	if p.rarely(2) {
		u = append(u, bson.E{Key: "preserveNullAndEmptyArrays", Value: true})
	}
	if p.rarely(3) {
		u = append(u, bson.E{Key: "includeArrayIndex", Value: "i"})
	}
	p.add("$unwind", u)
	p.unique, p.ordered = false, false
}

// group draws a $group stage. Accumulators whose result depends on the order of documents are drawn only after a
// sort.
func (p *pipe) group() {
	key := any(nil)
	switch p.IntN(6) {
	case 0, 1, 2:
		key = p.reference()
	case 3:
		key = bson.D{{Key: "x", Value: p.reference()}, {Key: "y", Value: "$k"}}
	case 4:
		key = one("$isNumber", p.reference())
	}
	g := bson.D{{Key: "_id", Value: key}}
	sorted := p.ordered || p.unique && p.rarely(2)
	if sorted && !p.ordered {
		p.arrange()
	}
	for i := range 1 + p.IntN(3) {
		g = append(g, bson.E{Key: "v" + string(rune('0'+i)), Value: p.accumulator(sorted)})
	}
	p.add("$group", g)
	p.unique, p.ordered = false, false // an order by arrays is not unique
}

// accumulator draws an accumulator.
func (p *pipe) accumulator(sorted bool) bson.D {
	if sorted {
		switch p.IntN(8) {
		case 0:
			return one(oneOf(p.drawer, "$first", "$last"), p.reference())
		case 1:
			return one("$push", p.reference())
		case 2:
			return one("$mergeObjects", one("$cond", bson.A{one("$eq", bson.A{one("$type", "$a"), "object"}), "$a", nil}))
		case 3:
			return one(oneOf(p.drawer, "$firstN", "$lastN"), bson.D{{Key: "input", Value: p.reference()}, {Key: "n", Value: int32(2)}})
		case 4:
			return one("$mergeObjects", bson.D{{Key: "z", Value: "$s"}, {Key: "a", Value: "$n"}})
		}
	}
	switch p.IntN(8) {
	case 0:
		return one("$count", bson.D{})
	case 1:
		return one(oneOf(p.drawer, "$sum", "$avg"), one("$cond", bson.A{one("$in", bson.A{one("$type", "$k"), bson.A{"int"}}), "$k", int32(0)}))
	case 2, 3:
		return one(oneOf(p.drawer, "$min", "$max"), p.reference())
	case 4:
		if !p.unique {
			break // the order is not unique
		}
		return one(oneOf(p.drawer, "$top", "$bottom"), bson.D{{Key: "sortBy", Value: bson.D{{Key: oneOf(p.drawer, "n", "s", "k"), Value: p.direction()}, {Key: "_id", Value: int32(1)}}}, {Key: "output", Value: oneOf(p.drawer, "$n", "$s", "$_id")}})
	case 5:
		return one(oneOf(p.drawer, "$minN", "$maxN"), bson.D{{Key: "input", Value: p.reference()}, {Key: "n", Value: int32(2)}})
	case 6:
		return one("$sum", int32(1))
	}
	return one("$max", one("$ifNull", bson.A{p.reference(), "z"}))
}

// lookup draws $lookup, with its results in order.
func (p *pipe) lookup() {
	l := bson.D{{Key: "from", Value: oneOf[any](p.drawer, self{}, other{}, other{})}}
	fields := p.IntN(5) > 0
	if fields {
		local, foreign := p.reference()[1:], p.reference()[1:]
		if p.rarely(2) { // values that are likely to match
			local = oneOf(p.drawer, "a", "a", "b", "a.0")
			foreign = oneOf(p.drawer, "a", "a.0", "b.0", "a.b", "b")
		}
		l = append(l, bson.E{Key: "localField", Value: local}, bson.E{Key: "foreignField", Value: foreign})
	}
	if !fields || p.rarely(3) {
		inner := bson.A{one("$match", p.filter(1))}
		if !fields || p.rarely(2) {
			l = append(l, bson.E{Key: "let", Value: one("v", "$"+oneOf(p.drawer, "k", "n", "s"))})
			inner = bson.A{one("$match", one("$expr", one(oneOf(p.drawer, "$eq", "$lt", "$gte"), bson.A{"$" + oneOf(p.drawer, "k", "n", "s"), "$$v"})))}
		}
		if p.rarely(2) { // the first documents of each row
			inner = append(inner, one("$sort", bson.D{{Key: oneOf(p.drawer, "k", "n", "s", "a"), Value: p.direction()}, {Key: "_id", Value: p.direction()}}), one("$limit", int64(1+p.IntN(3))))
		}
		l = append(l, bson.E{Key: "pipeline", Value: inner})
	}
	l = append(l, bson.E{Key: "as", Value: "r"})
	if p.rarely(2) {
		p.add("$limit", int64(everyRow)) // a barrier: no later stage can be moved before it
	}
	p.add("$lookup", l)
	if !p.large && !p.joined && p.rarely(3) { // not too many rows
		p.joined = true
		p.add("$unwind", "$r")
		p.unique, p.ordered = false, false
		return
	}
	p.add("$set", one("r", one("$sortArray", bson.D{{Key: "input", Value: "$r._id"}, {Key: "sortBy", Value: int32(1)}})))
}

// window draws $setWindowFields.
func (p *pipe) window() {
	w := bson.D{}
	if p.rarely(2) {
		w = append(w, bson.E{Key: "partitionBy", Value: "$" + oneOf(p.drawer, "k", "s")})
	}
	w = append(w, bson.E{Key: "sortBy", Value: bson.D{{Key: "_id", Value: p.direction()}}}, bson.E{Key: "output", Value: bson.D{
		{Key: "w", Value: bson.D{{Key: oneOf(p.drawer, "$sum", "$max"), Value: "$k"}, {Key: "window", Value: one("documents", bson.A{int32(-2), oneOf[any](p.drawer, int32(0), int32(1), "unbounded")})}}},
		{Key: "i", Value: one("$documentNumber", bson.D{})},
		{Key: "t", Value: bson.D{{Key: oneOf(p.drawer, "$topN", "$bottomN"), Value: bson.D{{Key: "n", Value: int32(2)}, {Key: "sortBy", Value: one("k", p.direction())}, {Key: "output", Value: "$_id"}}},
			{Key: "window", Value: one("documents", bson.A{int32(-3), int32(p.IntN(3) - 1)})}}},
	}})
	p.add("$setWindowFields", w)
	p.ordered = false
}
