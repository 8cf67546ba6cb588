package differential

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// turned returns the reverse of an order.
func turned(sort bson.D) bson.D {
	out := slices.Clone(sort)
	for i := range out {
		out[i].Value = -out[i].Value.(int32)
	}
	return out
}

// backwards are forms that read in the reverse direction.
var backwards = []*rewrite{
	{name: "sorted backwards", fits: func(q *question) bool {
		return isFind(q) && q.sort != nil && q.skip+q.limit == 0 && !strings.Contains(js(q.projection), "sortKey")
	}, of: func(q *question, docs []bson.D) bool {
		return scalar(q.sort, docs) // of an array, one direction sorts by the least element and the other by the greatest
	}, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		other := *q
		other.sort = turned(q.sort)
		a := ask(&other)
		slices.Reverse(a.rows)
		return a
	}},
	{name: "$natural backwards", fits: func(q *question) bool { return isFind(q) && q.sort == nil && q.skip+q.limit == 0 }, in: func(k *populatedWay) bool {
		return k.shard == nil && !k.view && !k.moves // there is no order between partitions
	}, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		natural := func(direction int32) answer {
			other := *q
			other.sort = one("$natural", direction)
			return ask(&other)
		}
		a, b := natural(1), natural(-1)
		if a.code != 0 || b.code != 0 {
			return answer{code: max(a.code, b.code), message: a.message + b.message}
		}
		slices.Reverse(b.rows)
		if !slices.EqualFunc(a.rows, b.rows, func(x, y bson.Raw) bool { return bytes.Equal(x, y) }) {
			return answer{code: -6, message: "$natural: -1 is not the reverse of $natural: 1: " + q.show(a) + q.show(b)}
		}
		return a
	}},
}
