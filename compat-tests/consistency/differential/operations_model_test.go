package differential

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// op is one random operation.
type op struct {
	kind   string // insert, find, count, group, updateOne, updateMany, upsert, delete
	docs   []bson.D
	filter bson.D
	update bson.D
	sort   bson.D
	skip   int64
	limit  int64
	batch  int32
	id     int32 // of updateOne and upsert
}

// next draws an operation.
func (g generator) next() op {
	switch k := g.IntN(20); {
	case k < 4:
		o := op{kind: "insert"}
		for range 1 + g.IntN(6) {
			o.docs = append(o.docs, g.document())
		}
		return o
	case k < 12:
		o := op{kind: "find", filter: g.filter(2), batch: int32(2 + g.IntN(30))}
		o.sort = bson.D{{Key: "_id", Value: int32(1 - 2*g.IntN(2))}}
		if g.IntN(2) == 0 {
			o.sort = append(bson.D{{Key: oneOf(g, "n", "a", "s", "b", "t"), Value: int32(1 - 2*g.IntN(2))}}, o.sort...)
		}
		if g.IntN(3) == 0 {
			o.skip, o.limit = int64(g.IntN(4)), int64(1+g.IntN(10))
		}
		return o
	case k < 13:
		return op{kind: "count", filter: g.filter(2)}
	case k < 14:
		return op{kind: "group", filter: g.filter(1)}
	case k < 16:
		return op{kind: "updateOne", id: int32(g.IntN(ids)), update: g.update()}
	case k < 18:
		return op{kind: "updateMany", filter: g.filter(1), update: g.update()}
	case k < 19:
		return op{kind: "upsert", id: int32(g.IntN(ids)), update: g.update()}
	}
	return op{kind: "delete", filter: bson.D{{Key: "_id", Value: bson.D{
		{Key: "$gte", Value: int32(g.IntN(ids))}, {Key: "$lt", Value: int32(g.IntN(ids))}}}}}
}

// model keeps the documents decoded, by _id.
type model struct{ docs map[int32]bson.D }

// apply runs an operation on the naive model and returns its outcome as text.
func (m *model) apply(o op) string {
	switch o.kind {
	case "insert":
		n := 0
		for _, doc := range o.docs {
			id := doc[0].Value.(int32)
			if m.docs[id] == nil {
				m.docs[id] = doc
				n++
			}
		}
		return fmt.Sprintf("inserted %d", n)
	case "find":
		return lines(m.find(o))
	case "count":
		return fmt.Sprintf("count %d", len(m.where(o.filter)))
	case "group":
		return groups(m.where(o.filter))
	case "updateOne", "upsert":
		doc := m.docs[o.id]
		if doc == nil && o.kind == "upsert" {
			m.docs[o.id] = updated(bson.D{{Key: "_id", Value: o.id}}, o.update)
			return "matched 0"
		}
		if doc == nil {
			return "matched 0"
		}
		m.docs[o.id] = updated(doc, o.update)
		return "matched 1"
	case "updateMany":
		found := m.where(o.filter)
		for _, doc := range found {
			m.docs[doc[0].Value.(int32)] = updated(doc, o.update)
		}
		return fmt.Sprintf("matched %d", len(found))
	case "delete":
		found := m.where(o.filter)
		for _, doc := range found {
			delete(m.docs, doc[0].Value.(int32))
		}
		return fmt.Sprintf("deleted %d", len(found))
	}
	panic(o.kind)
}

// where returns the matching documents by _id.
func (m *model) where(filter bson.D) []bson.D {
	var out []bson.D
	for id := range int32(ids) {
		if doc := m.docs[id]; doc != nil && matches(doc, filter) {
			out = append(out, doc)
		}
	}
	return out
}

// find filters, sorts, and applies skip and limit.
func (m *model) find(o op) []bson.D {
	out := m.where(o.filter)
	slices.SortStableFunc(out, func(a, b bson.D) int {
		for _, e := range o.sort {
			direction := int(e.Value.(int32))
			if c := compare(sortKey(get(a, e.Key), direction), sortKey(get(b, e.Key), direction)) * direction; c != 0 {
				return c
			}
		}
		return 0
	})
	out = out[min(int(o.skip), len(out)):]
	if o.limit > 0 {
		out = out[:min(int(o.limit), len(out))]
	}
	return out
}

// sortKey returns the value by which a document is sorted if a field has the value v: the smallest or largest
// element of an array, by the direction. An empty array sorts before null, and a missing field as null.
func sortKey(v any, direction int) any {
	switch v := v.(type) {
	case missing:
		return nil
	case bson.A:
		if len(v) == 0 {
			return missing{}
		}
		best := v[0]
		for _, e := range v[1:] {
			if compare(e, best)*direction < 0 {
				best = e
			}
		}
		return best
	}
	return v
}

// lines prints documents, one per line.
func lines(docs []bson.D) string {
	var b strings.Builder
	for _, doc := range docs {
		b.WriteString(text(doc))
		b.WriteByte('\n')
	}
	return b.String()
}

// groups returns, as text, how many documents have each value of n. Equal numbers of different types are one group.
func groups(docs []bson.D) string {
	counts := map[string]int{}
	for _, doc := range docs {
		counts[groupName(get(doc, "n"))]++
	}
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s: %d", name, n))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// groupName returns the key of a group as text, without the type of a number.
func groupName(v any) string {
	switch v.(type) {
	case missing, nil:
		return "null"
	}
	x := number(v)
	if x == 0 {
		x = 0 // not -0
	}
	return fmt.Sprint(x)
}

// text prints a value with all types visible.
func text(v any) string {
	out, err := bson.MarshalExtJSON(v, true, false)
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	return string(out)
}
