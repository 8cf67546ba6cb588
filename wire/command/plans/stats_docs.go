package plans

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/shard/cluster"
)

// queryStatsDocs returns the documents of the stage $queryStats: the executions that this server has counted, by key.
// Manual: reference/operator/aggregation/queryStats.
func (s *State) queryStatsDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) (out []bson.Raw, err error) {
	transform, hashed := spec.Get("transformIdentifiers").Doc()
	_, secret, _ := transform.Get("hmacKey").Binary()
	names := identifiers{secret}
	for _, e := range s.stats.list() {
		if err := o.Env.Interrupted(); err != nil {
			return nil, err
		}
		key := e.doc
		if hashed {
			key = names.key(key)
		}
		b := bson.NewBuilder(nil)
		b.Raw("key", key)
		b.String("keyHash", e.hash)
		b.String("queryShapeHash", e.shapeHash)
		e.appendMetrics(b, o.Env.Release.Has(release.StatsOfWrites))
		b.DateTime("asOf", s.Cluster.Now().UnixMilli())
		out = append(out, b.Doc())
	}
	return out, nil
}
