package ddl

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// ExpireDue implements cluster.Definer.
func (d *Definer) ExpireDue(o *cluster.Op, coll *catalog.Collection) error {
	return d.Jobs.ExpireDue(o.Env.Context(), coll)
}
