package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/ratelimit"
)

// reach holds the cause of the tenant of a statement (ratelimit.Tenants): the document that it inserts, its filter, or the
// encoded _id that it reads, which is the shard key. The tenant is computed only if tenants have limits.
type reach struct {
	doc    bson.Raw
	filter match.Node
	id     []byte
}

// tenant returns the number of the tenant whose documents a statement reads or writes; 0 if it may reach several, or if
// the collection has no tenants.
func (o *Op) tenant(coll *catalog.Collection, limits *ratelimit.Tenants) uint64 {
	if !coll.Sharded() || limits.Fields > len(coll.Key.Fields()) {
		return 0
	}
	var space [64]byte
	switch r := &o.reach; {
	case r.doc != nil:
		return limits.Of(coll.Key.AppendPrefix(space[:0], r.doc, limits.Fields))
	case r.id != nil:
		return limits.Of(r.id)
	case r.filter != nil && o.Env.Collation == nil:
		values := make([]bson.Value, 0, 4)
		for _, f := range coll.Key.Fields()[:limits.Fields] {
			v, ok := match.Points(r.filter, f.Path.String())
			if !ok || len(v) != 1 {
				return 0
			}
			values = append(values, v[0])
		}
		return limits.Of(coll.Key.AppendLogicalOf(space[:0], values))
	}
	return 0
}
