package index

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/order"
)

// kindPlain is the index kind without a name: one or more fields, each with a direction.
// Manual: core/indexes/index-types/index-compound.
var kindPlain = Kind{Doc: "core/indexes/index-types/index-compound", keys: plainKeys}

func plainKeys(g *generator) error {
	missing := 0
	for i, p := range g.s.paths {
		_, v := order.Descend(g.doc.Value(), p, 0)
		switch v.Type {
		case bson.TypeArray:
			g.begin()
			return g.tuples(func(values []bson.Value) error {
				for _, v := range values {
					g.value(v)
				}
				return g.end()
			})
		case bson.TypeMissing:
			missing++
		}
		g.keys = keystring.Append(g.keys, v, g.s.dirs[i], g.s.order(i), &g.tb)
	}
	if g.s.Sparse && missing == len(g.s.paths) {
		g.begin()
		return nil
	}
	return g.end()
}
