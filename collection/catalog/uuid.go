package catalog

import (
	"crypto/md5"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// VirtualUUID returns the UUID derived from a name; the same name always gives the same UUID.
func VirtualUUID(name string) [16]byte {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30 // version 3: from a name
	u[8] = u[8]&0x3f | 0x80
	return u
}

// CheckUUID compares a collection's UUID with the one that a client expects; if uuid is
// missing, there is nothing to compare. Errors: CollectionUUIDMismatch (361).
func (s *Snapshot) CheckUUID(ns collection.Namespace, coll *Collection, uuid bson.Value) error {
	_, want, ok := uuid.Binary()
	if !ok || coll != nil && string(coll.UUID[:]) == string(want) {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("db", ns.DB)
	b.Value("collectionUUID", uuid)
	b.String("expectedCollection", ns.Coll)
	b.Null("actualCollection")
	for _, other := range s.Collections(ns.DB) {
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
