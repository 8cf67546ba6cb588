package index

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/order"
)

// kindHashed is the index kind hashed: entries hold the hash of one field's value; a compound index also has ordered
// fields. Arrays cannot be hashed.
// Manual: core/indexes/index-types/index-hashed.
var kindHashed = Kind{
	Name:  "hashed",
	Doc:   "core/indexes/index-types/index-hashed",
	check: checkHashed,
	keys:  hashedKeys,
}

func checkHashed(p *parser) error {
	n := 0
	for i := range p.s.Parts {
		if p.s.Parts[i].Plugin == "hashed" {
			n++
		}
	}
	switch {
	case n > 1:
		return mongoerr.New(31303, "A maximum of one index field is allowed to be hashed but found %d for 'key' %s", n, p.s.Key)
	case p.s.Unique:
		return mongoerr.New(16764, "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.")
	}
	return nil
}

func hashedKeys(g *generator) error {
	missing := 0
	for i, p := range g.s.paths {
		_, v := order.Descend(g.doc.Value(), p, 0)
		switch v.Type {
		case bson.TypeArray:
			return mongoerr.New(16766, "hashed indexes do not currently support array values. Found array at path: %s", p)
		case bson.TypeMissing:
			missing++
		}
		if g.s.Parts[i].Plugin == "hashed" {
			v = g.hash(v)
		}
		g.value(v)
	}
	if g.s.Sparse && missing == len(g.s.paths) {
		g.begin()
		return nil
	}
	return g.end()
}

// hash returns the hash of the field value v as an int64 value. Under a collation, strings are hashed by their sort
// keys, so that equal strings have equal hashes.
func (g *generator) hash(v bson.Value) bson.Value {
	if text, ok := v.Text(); ok && g.s.Collation != nil {
		v = g.arena.StringBytes(g.s.Collation.AppendKey(nil, text))
	}
	return g.arena.Int64(bson.HashedKey(v))
}

// HashedValue returns the value that a hashed field of the index stores for v. The planner makes the bounds of an
// equality from it.
func (s *Spec) HashedValue(v bson.Value) bson.Value {
	g := generator{s: s}
	return g.hash(v)
}
