package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// CheckUUID compares a collection with the UUID a client expects it to have; a
// missing value expects nothing. Errors: CollectionUUIDMismatch (361).
func (c *Call) CheckUUID(ns collection.Namespace, coll *catalog.Collection, uuid bson.Value) error {
	_, want, ok := uuid.Binary()
	if !ok || coll != nil && string(coll.UUID[:]) == string(want) {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("db", ns.DB)
	b.Value("collectionUUID", uuid)
	b.String("expectedCollection", ns.Coll)
	b.Null("actualCollection")
	for _, other := range c.Cluster.Catalog.Peek().Collections(ns.DB) {
		if string(other.UUID[:]) == string(want) {
			b = bson.NewBuilder(nil)
			b.String("db", ns.DB)
			b.Value("collectionUUID", uuid)
			b.String("expectedCollection", ns.Coll)
			b.String("actualCollection", other.Namespace.Coll)
		}
	}
	return mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified").WithFields(b.Doc().Elements())
}
