package differential

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// collatorOf returns the collator of a question.
func collatorOf(q *question) collator {
	if q.collation == nil {
		return nil
	}
	return byLetters(int(number(get(q.collation, "strength"))))
}

// modelled computes the answer to a query from decoded documents; ok is false for queries that the evaluator does not
// compute, such as pipelines with other stages than $match, and for those to which it has no certain answer.
func modelled(q *question, docs []bson.D) (answer, bool) {
	if q.kind == "aggregate" && (len(q.pipeline) == 0 || slices.ContainsFunc(q.pipeline, func(s any) bool { return s.(bson.D)[0].Key != "$match" })) || q.needs {
		return answer{}, false
	}
	return judged(func() answer { return answerOf(q, docs) })
}

// answerOf answers a question of a kind that modelled accepts.
func answerOf(q *question, docs []bson.D) answer {
	c := collatorOf(q)
	var found []bson.D
	for _, d := range docs {
		ok := true
		if q.kind == "aggregate" {
			for _, s := range q.pipeline {
				ok = ok && c.matches(d, s.(bson.D)[0].Value.(bson.D))
			}
		} else {
			ok = c.matches(d, q.filter) && (q.bounds == nil || q.bounds.has(d))
		}
		if ok {
			found = append(found, d)
		}
	}
	if q.kind == "distinct" {
		return raws(c.distinct(q.key, found))
	}
	if q.sort != nil {
		c.arrange(found, q.sort)
	}
	if q.skip > 0 {
		found = found[min(int(q.skip), len(found)):]
	}
	if q.limit > 0 {
		found = found[:min(int(q.limit), len(found))]
	}
	if q.kind == "count" {
		return raws([]bson.D{one("n", int64(len(found)))})
	}
	if q.projection != nil {
		for i := range found {
			found[i] = c.projected(found[i], q)
		}
	}
	return raws(found)
}

// raws returns documents as rows.
func raws(docs []bson.D) (out answer) {
	for _, d := range docs {
		raw, err := bson.Marshal(d)
		if err != nil {
			panic(err)
		}
		out.rows = append(out.rows, raw)
	}
	return out
}

// whole returns the names in a path. It panics with unjudged if one of them is a position or empty.
func whole(path string) []string {
	names := strings.Split(path, ".")
	for _, n := range names {
		if n == "" || n[0] >= '0' && n[0] <= '9' {
			panic(unjudged{"an order by a position"})
		}
	}
	return names
}

// entries returns the sort keys of a document for a path; if the value is an array, each of its elements is one.
func entries(v any, path []string) []any {
	a, isArray := v.(bson.A)
	switch d, isDoc := v.(bson.D); {
	case len(path) > 0 && isDoc:
		return entries(get(d, path[0]), path[1:])
	case len(path) > 0 && isArray:
		var out []any
		for _, e := range a {
			if _, ok := e.(bson.D); ok {
				out = append(out, entries(e, path)...)
			} else {
				out = append(out, nil)
			}
		}
		if out == nil {
			out = []any{nil}
		}
		return out
	case len(path) > 0:
		return []any{nil}
	case isArray && len(a) == 0:
		return []any{bson.Undefined{}}
	case isArray:
		return a
	}
	if _, absent := v.(missing); absent {
		return []any{nil}
	}
	return []any{v}
}

// arrange sorts documents.
func (c collator) arrange(docs []bson.D, by bson.D) {
	type sorted struct {
		doc bson.D
		key []any
	}
	list := make([]sorted, len(docs))
	for i, d := range docs {
		list[i].doc = d
		for _, e := range by {
			all := entries(d, whole(e.Key))
			best := all[0]
			for _, v := range all[1:] {
				if c.compare(v, best)*int(e.Value.(int32)) < 0 {
					best = v
				}
			}
			list[i].key = append(list[i].key, best)
		}
	}
	slices.SortStableFunc(list, func(a, b sorted) int {
		for i, e := range by {
			if r := c.compare(a.key[i], b.key[i]) * int(e.Value.(int32)); r != 0 {
				return r
			}
		}
		return 0
	})
	for i := range list {
		docs[i] = list[i].doc
	}
}

// distinct returns the values of a path.
func (c collator) distinct(path string, docs []bson.D) (out []bson.D) {
	var values []any
	var collect func(v any, path []string)
	collect = func(v any, path []string) {
		a, isArray := v.(bson.A)
		switch d, isDoc := v.(bson.D); {
		case len(path) > 0 && isDoc:
			collect(get(d, path[0]), path[1:])
		case len(path) > 0 && isArray:
			for _, e := range a {
				if _, ok := e.(bson.D); ok {
					collect(e, path)
				}
			}
		case len(path) > 0:
		case isArray:
			values = append(values, a...)
		default:
			if _, absent := v.(missing); !absent {
				values = append(values, v)
			}
		}
	}
	for _, d := range docs {
		collect(d, whole(path))
	}
	slices.SortFunc(values, c.compare)
	for i, v := range values {
		if i == 0 || c.compare(v, values[i-1]) != 0 {
			out = append(out, one("value", v))
		}
	}
	return out
}
