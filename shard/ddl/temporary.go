package ddl

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// outPrefix and cappedPrefix begin the names of the collections that $out, convertToCapped and
// cloneCollectionAsCapped fill before they rename them.
const (
	outPrefix    = "tmp.agg_out."
	cappedPrefix = "tmp.convertToCapped."
)

// temporary returns a new, unique name with one of the prefixes.
func temporary(db, prefix string) collection.Namespace {
	id := bson.NewObjectID()
	return collection.Namespace{DB: db, Coll: prefix + hex.EncodeToString(id[:])}
}

// temporary returns a new, unique name for a temporary collection, with one of the prefixes and the ID of this
// server, so that peers find what a dead server left. The only member of a store has no ID.
func (d *Definer) temporary(db, prefix string) collection.Namespace {
	if id := storage.MembershipOf(d.store).Member(); id != (storage.MemberID{}) {
		prefix += hex.EncodeToString(id[:]) + "."
	}
	return temporary(db, prefix)
}

// memberOf returns the ID of the server that fills a temporary collection, from the collection's name; ok is false if
// the name does not contain one.
func memberOf(name string) (id storage.MemberID, ok bool) {
	for _, prefix := range []string{outPrefix, cappedPrefix} {
		if rest, is := strings.CutPrefix(name, prefix); is {
			by, _, _ := strings.Cut(rest, ".")
			n, err := hex.Decode(id[:], []byte(by[:min(len(by), 2*len(id))]))
			return id, err == nil && n == len(id) && len(by) == 2*len(id)
		}
	}
	return id, false
}

// CreateTemporary creates the collection that $out fills. The caller ends it with Replace or Drop.
// Errors: as Create.
func (d *Definer) CreateTemporary(o *cluster.Op, db string, options bson.Raw, indexes []bson.Raw) (collection.Namespace, error) {
	ns := d.temporary(db, outPrefix)
	return ns, d.Create(o, ns, CreateOptions{Raw: options, Indexes: indexes, Stored: true})
}

// DropUnfinished drops the temporary collections that commands were filling when their server died. A server that has
// the store exclusively calls it once after a start, before clients are admitted, without alive. Over a shared store
// one server calls it periodically; alive reports the live servers, whose collections stay, as do those without an ID
// in the name.
// Errors: the errors of dropping.
func (d *Definer) DropUnfinished(ctx context.Context, alive func(storage.MemberID) bool) error {
	snap := d.catalog.Peek()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			if name := coll.Namespace.Coll; !strings.HasPrefix(name, outPrefix) && !strings.HasPrefix(name, cappedPrefix) {
				continue
			} else if by, ok := memberOf(name); alive != nil && (!ok || alive(by)) {
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
