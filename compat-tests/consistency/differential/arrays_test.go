package differential

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// isPositional reports whether a projection has a positional operator (a.$), which selects the array element that
// the filter matched.
func isPositional(projection bson.D) bool {
	return slices.ContainsFunc(projection, func(e bson.E) bool { return strings.HasSuffix(e.Key, ".$") })
}

// ofElements draws a find that projects elements of an array.
func (d drawer) ofElements() *question {
	q := &question{kind: "find", filter: d.filter(1)}
	path := oneOf(d, "a", "a", "b", "c")
	inclusive := true
	switch d.IntN(6) {
	case 0, 1, 2:
		q.filter = one(path, d.forElements(path))
		if d.rarely(3) { // not an array, so that the position comes from the other condition
			q.filter = append(q.filter, bson.E{Key: "_id", Value: one(d.order(), int32(d.IntN(40)))})
		}
		q.projection = one(path+".$", int32(1))
	case 3:
		q.projection = one(path, one("$elemMatch", d.elemMatch(path, 1)))
	default:
		cut := any(int32(d.IntN(6) - 2))
		if d.rarely(2) {
			cut = bson.A{int32(d.IntN(6) - 3), int32(1 + d.IntN(3))}
		}
		q.projection = one(path, one("$slice", cut))
		inclusive = d.rarely(2)
	}
	if d.rarely(3) {
		with := bson.E{Key: "s", Value: int32(1)}
		if !inclusive {
			with.Value = int32(0)
		}
		q.projection = append(q.projection, with)
	}
	if d.rarely(2) {
		q.sort = d.sort()
		if d.rarely(2) {
			q.skip, q.limit = int64(d.IntN(4)), int64(d.IntN(12))
		}
	}
	if d.rarely(8) {
		q.collation = d.collation()
	}
	return q
}

// forElements draws a condition that an array meets only by one of its elements, never as a whole. Manual:
// reference/operator/projection/positional
func (d drawer) forElements(path string) any {
	if d.rarely(3) {
		return one("$elemMatch", d.elemMatch(path, 1))
	}
	for {
		switch v := d.operand(path).(type) {
		case nil, bson.A, bson.D, bson.MinKey, bson.MaxKey:
		default:
			if d.rarely(2) {
				return one(d.order(), v)
			}
			return v
		}
	}
}

// projected returns a document after the projection of a query that selects elements of arrays (a.$, $elemMatch,
// $slice) and perhaps includes or excludes other fields by name.
func (c collator) projected(doc bson.D, q *question) bson.D {
	inclusive, named := false, map[string]any{}
	for _, e := range q.projection {
		switch v := e.Value.(type) {
		case int32:
			path, positional := strings.CutSuffix(e.Key, ".$")
			if !positional && path != "s" {
				panic(unjudged{"a projection"})
			}
			inclusive = inclusive || v == 1
			named[path] = v
			if positional {
				named[path] = "$"
			}
		case bson.D:
			if v[0].Key != "$elemMatch" && v[0].Key != "$slice" {
				panic(unjudged{"a projection"})
			}
			inclusive = inclusive || v[0].Key == "$elemMatch"
			named[e.Key] = v
		default:
			panic(unjudged{"a projection"})
		}
	}
	var out bson.D
	for _, e := range doc {
		rule, known := named[e.Key]
		a, isArray := e.Value.(bson.A)
		switch rule := rule.(type) {
		case nil:
			if known || inclusive && e.Key != "_id" {
				continue
			}
		case int32:
			if rule == 0 {
				continue
			}
		case string:
			if isArray {
				e.Value = a[c.position(a, get(q.filter, e.Key)):][:1]
			}
		case bson.D:
			switch rule[0].Key {
			case "$slice":
				if isArray {
					e.Value = sliced(a, rule[0].Value)
				}
			case "$elemMatch":
				at := slices.IndexFunc(a, func(v any) bool { return c.element(bson.A{v}, rule[0].Value.(bson.D)) })
				if at < 0 {
					continue
				}
				e.Value = a[at : at+1]
			}
		}
		out = append(out, e)
	}
	return out
}

// position returns the index of the first element of an array that meets a condition, for the positional operator.
func (c collator) position(a bson.A, condition any) int {
	operators := conditions(condition)
	at := slices.IndexFunc(a, func(v any) bool {
		if operators[0].Key == "$elemMatch" {
			return c.element(bson.A{v}, operators[0].Value.(bson.D))
		}
		return c.allHold(v, operators)
	})
	if at < 0 {
		panic(unjudged{"an array that is found as a whole"})
	}
	return at
}

// sliced returns the result of $slice on an array.
func sliced(a bson.A, argument any) bson.A {
	from, to := 0, len(a)
	switch v := argument.(type) {
	case int32:
		if v < 0 {
			from = max(0, len(a)+int(v))
		} else {
			to = min(len(a), int(v))
		}
	case bson.A:
		if from = int(v[0].(int32)); from < 0 {
			from = max(0, len(a)+from)
		}
		from = min(from, len(a))
		to = min(len(a), from+int(v[1].(int32)))
	}
	return a[from:to]
}
