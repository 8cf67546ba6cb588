package cluster

import (
	"context"
	"strings"

	"github.com/cantledb/cantle/collection/mql"
)

// cappedPrefix begins the names of the collections that convertToCapped fills.
const cappedPrefix = "tmp.convertToCapped."

// DropUnfinished drops the collections that commands were filling when an earlier
// process died: those of $out and convertToCapped. Called once after a start, before clients are let in.
// Errors: those of dropping.
func (c *Cluster) DropUnfinished(ctx context.Context) error {
	snap := c.Catalog.Peek()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			if name := coll.Namespace.Coll; !strings.HasPrefix(name, outPrefix) && !strings.HasPrefix(name, cappedPrefix) {
				continue
			}
			env := mql.NewEnv(ctx)
			env.DB = db.Name
			if _, err := c.Drop(&Op{Env: env, TxnNumber: -1}, coll.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}
