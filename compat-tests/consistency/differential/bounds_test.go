package differential

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// common is the name of an index that, in some sets of documents, all ways of storage with indexes have, for queries
// with min and max and for reads in both directions.
const common = "common"

// keyRange holds min and max of a find. Manual: reference/method/cursor.min
type keyRange struct {
	key      bson.D // of the common index
	min, max bson.D // nil is none
}

// commonKey draws the key pattern of the index common. At most one of its fields can have arrays.
func (d drawer) commonKey() bson.D {
	first := oneOf(d, "n", "n", "s", "k", "a", "b", "a.b")
	if d.large {
		first = oneOf(d, "n", "a", "b", "s")
	}
	if d.dated && d.rarely(3) {
		first = "at"
	}
	out := one(first, d.direction())
	if d.rarely(2) {
		out = put(out, oneOf(d, "n", "s", "k"), d.direction())
	}
	if d.IntN(3) > 0 {
		out = append(out, bson.E{Key: "_id", Value: d.direction()})
	}
	return out
}

// commonIndex returns the specification of the common index.
func (d drawer) commonIndex() index {
	return index{{Key: "key", Value: d.common}, {Key: "name", Value: common}}
}

// bounded draws a find with min, max or both.
func (d drawer) bounded() *question {
	for {
		b := &keyRange{key: d.common}
		end := func() (out bson.D) {
			for _, e := range d.common {
				out = append(out, bson.E{Key: e.Key, Value: d.operand(e.Key)})
			}
			return out
		}
		switch d.IntN(4) {
		case 0:
			b.min = end()
		case 1:
			b.max = end()
		default:
			b.min, b.max = end(), end()
		}
		if c, ok := judged(func() int { return b.compare(values(b.min), values(b.max)) }); b.min != nil && b.max != nil {
			if !ok || c == 0 { // an empty range is an error, so the order of the bounds must be certain
				continue
			}
			if c > 0 {
				b.min, b.max = b.max, b.min
			}
		}
		q := &question{kind: "find", filter: bson.D{}, bounds: b}
		if d.rarely(2) {
			q.filter = d.filter(1)
		}
		if d.rarely(2) {
			q.sort = d.sort()
			if d.rarely(2) {
				q.skip, q.limit = int64(d.IntN(4)), int64(d.IntN(12))
			}
		}
		return q
	}
}

// values returns the values of the fields.
func values(key bson.D) (out []any) {
	for _, e := range key {
		out = append(out, e.Value)
	}
	return out
}

// compare orders two keys as the index does.
func (b *keyRange) compare(x, y []any) int {
	for i := range min(len(x), len(y)) {
		if c := compare(x[i], y[i]); c != 0 {
			return c * int(b.key[i].Value.(int32))
		}
	}
	return 0
}

// has reports whether a document has an index key within the bounds of min, which is included, and max, which is
// excluded.
func (b *keyRange) has(doc bson.D) bool {
	keys := [][]any{nil}
	for _, e := range b.key {
		var longer [][]any
		for _, v := range entries(doc, whole(e.Key)) {
			switch v.(type) {
			case bson.Regex, bson.Symbol:
				panic(unjudged{"the place of " + js(v) + " in an index"})
			}
			for _, k := range keys {
				longer = append(longer, append(slices.Clone(k), v))
			}
		}
		keys = longer
	}
	return slices.ContainsFunc(keys, func(k []any) bool {
		return (b.min == nil || b.compare(k, values(b.min)) >= 0) && (b.max == nil || b.compare(k, values(b.max)) < 0)
	})
}

// filter returns a filter that matches the same documents as min and max, for collections without the index. It is
// right only if each document has one index key.
func (b *keyRange) filter() bson.D {
	parts := bson.A{}
	if b.min != nil {
		parts = append(parts, b.beyond(b.min, 1, true))
	}
	if b.max != nil {
		parts = append(parts, b.beyond(b.max, -1, false))
	}
	return one("$expr", one("$and", parts))
}

// beyond returns an aggregation expression that is true if the index key of a document lies after the bound end
// (side 1) or before it (side -1), or, if orEqual is set, is equal to it.
func (b *keyRange) beyond(end bson.D, side int32, orEqual bool) bson.D {
	alternatives, same := bson.A{}, bson.A{}
	for i, e := range end {
		operands := bson.A{one("$ifNull", bson.A{"$" + e.Key, nil}), one("$literal", e.Value)}
		operator := "$gt"
		if b.key[i].Value.(int32)*side < 0 {
			operator = "$lt"
		}
		alternatives = append(alternatives, one("$and", append(slices.Clone(same), one(operator, operands))))
		same = append(same, one("$eq", operands))
	}
	if orEqual {
		alternatives = append(alternatives, one("$and", same))
	}
	return one("$or", alternatives)
}

// scalar reports whether the fields are at the top level and no document has an array, undefined, a regular expression
// or a symbol in them, so that an expression compares them as an index does.
func scalar(fields bson.D, docs []bson.D) bool {
	for _, e := range fields {
		if strings.Contains(e.Key, ".") {
			return false
		}
		for _, d := range docs {
			switch get(d, e.Key).(type) {
			case bson.A, bson.Undefined, bson.Regex, bson.Symbol:
				return false
			}
		}
	}
	return true
}

// bounded reports whether the way supports min and max.
func (k *populatedWay) bounded() bool {
	return !k.view && slices.ContainsFunc(k.indexes, func(x index) bool { return x.name() == common })
}

// filtered returns a question with bounds as one without.
func (q *question) filtered() *question {
	other := *q
	other.bounds, other.filter = nil, all(q.filter, q.bounds.filter())
	return &other
}

// first returns the reference for a query, whose answer all other ways of storage must return: the collection that
// is scanned. If a filter cannot replace min and max of the query, it is the first collection with the needed index,
// or nil.
func (r *round) first(q *question) *populatedWay {
	if q.bounds == nil || scalar(q.bounds.key, r.docs) {
		return r.kept[0]
	}
	for _, k := range r.kept {
		if !k.out && k.bounded() && (k.supports == nil || k.supports(q)) {
			return k
		}
	}
	return nil
}

// takesBounds reports whether a query with min and max can be sent to this way of storage: it has the needed index,
// or a filter can replace min and max.
func (k *populatedWay) takesBounds(q *question, docs []bson.D) bool {
	return q.bounds == nil || k.bounded() || scalar(q.bounds.key, docs)
}
