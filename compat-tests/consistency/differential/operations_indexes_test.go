package differential

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// plainIndexes index every field, and two of them together.
var plainIndexes = []bson.D{
	{{Key: "a", Value: 1}}, {{Key: "b", Value: -1}}, {{Key: "n", Value: 1}}, {{Key: "s", Value: 1}, {Key: "n", Value: -1}},
	{{Key: "o.x", Value: 1}}, {{Key: "l.x", Value: 1}}, {{Key: "l.y", Value: -1}}, {{Key: "t", Value: 1}},
}

// otherKeys lists further key patterns for random indexes. No two fields of a pattern can be arrays in one document,
// unless they are in the same array, so that no index refuses a document.
var otherKeys = []bson.D{
	{{Key: "$**", Value: 1}}, {{Key: "o.$**", Value: -1}}, {{Key: "a.$**", Value: 1}},
	{{Key: "s", Value: "hashed"}}, {{Key: "n", Value: "hashed"}, {Key: "s", Value: -1}},
	{{Key: "a", Value: -1}, {Key: "n", Value: 1}, {Key: "_id", Value: 1}}, {{Key: "n", Value: -1}, {Key: "t", Value: 1}},
	{{Key: "l.x", Value: 1}, {Key: "l.y", Value: 1}}, {{Key: "o.y", Value: 1}, {Key: "o.x", Value: -1}}, {{Key: "s", Value: -1}, {Key: "_id", Value: -1}},
	{{Key: "n", Value: 1}, {Key: "_id", Value: -1}}, {{Key: "b", Value: 1}, {Key: "s", Value: 1}, {Key: "n", Value: 1}},
}

// partials are filters of partial indexes.
var partials = []bson.D{
	{{Key: "n", Value: bson.D{{Key: "$gt", Value: 0}}}}, {{Key: "s", Value: bson.D{{Key: "$exists", Value: true}}}},
	{{Key: "a", Value: bson.D{{Key: "$type", Value: "string"}}}}, {{Key: "n", Value: bson.D{{Key: "$in", Value: bson.A{1, 2, nil}}}}},
}

// indexes draws the indexes of the variants with indexes: plainIndexes half of the time, otherwise random ones, some
// of them sparse, partial, or with a collation that the operations do not have.
func (g generator) indexes() bson.A {
	out := bson.A{}
	add := func(key bson.D, options ...bson.E) {
		out = append(out, append(bson.D{{Key: "key", Value: key}, {Key: "name", Value: fmt.Sprintf("i%d", len(out))}}, options...))
	}
	if g.IntN(2) == 0 {
		for _, key := range plainIndexes {
			add(key)
		}
		return out
	}
	for _, i := range g.Perm(len(plainIndexes) + len(otherKeys))[:2+g.IntN(6)] {
		if i >= len(plainIndexes) {
			add(otherKeys[i-len(plainIndexes)])
			continue
		}
		switch key := plainIndexes[i]; g.IntN(5) {
		case 0:
			add(key, bson.E{Key: "sparse", Value: true})
		case 1:
			add(key, bson.E{Key: "partialFilterExpression", Value: partials[g.IntN(len(partials))]})
		case 2:
			add(key, bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}}})
		default:
			add(key)
		}
	}
	return out
}
