package ddl

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
)

// outPrefix and cappedPrefix begin the names of the collections that $out and
// convertToCapped fill before they take the place of another.
const (
	outPrefix    = "tmp.agg_out."
	cappedPrefix = "tmp.convertToCapped."
)

// temporary is a name that no collection has, with one of the prefixes.
func temporary(db, prefix string) collection.Namespace {
	id := bson.NewObjectID()
	return collection.Namespace{DB: db, Coll: prefix + hex.EncodeToString(id[:])}
}

// CreateTemporary makes the collection that $out fills. Replace ends it, or Drop.
// Errors: as Create.
func (d *Definer) CreateTemporary(o *cluster.Op, db string, options bson.Raw, indexes []bson.Raw) (collection.Namespace, error) {
	ns := temporary(db, outPrefix)
	return ns, d.Create(o, ns, CreateOptions{Raw: options, Indexes: indexes})
}

// DropUnfinished drops the temporary collections that commands were filling when an
// earlier process died. Called once after a start, before clients are let in.
// Errors: those of dropping.
func (d *Definer) DropUnfinished(ctx context.Context) error {
	snap := d.catalog.Peek()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			if name := coll.Namespace.Coll; !strings.HasPrefix(name, outPrefix) && !strings.HasPrefix(name, cappedPrefix) {
				continue
			}
			env := mql.NewEnv(ctx)
			env.DB = db.Name
			if _, err := d.Drop(&cluster.Op{Env: env, TxnNumber: -1}, coll.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}
