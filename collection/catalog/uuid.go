package catalog

import (
	"crypto/md5"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
)

// VirtualUUID returns the UUID derived from a name; the same name always gives the same UUID.
func VirtualUUID(name string) [16]byte {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30 // version 3: from a name
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Expected is the collection that a client expects under a namespace (collectionUUID).
type Expected struct {
	collection.Namespace
	UUID bson.Value // missing or null: the client expects none
	// Viewer decides whether an error may name the collection that has the UUID; nil permits it.
	Viewer NameViewer
}

// NameViewer decides what the user of a command may see.
type NameViewer interface {
	// SeesName reports whether the user may see that a collection exists.
	SeesName(ns collection.Namespace) bool
}

// CheckUUID returns an error unless the namespace has the UUID that the client expects. A view has no UUID; that of a
// time-series collection belongs to the namespace of its buckets, for a client of a release with SeriesOneNamespace to
// both.
// Errors: CollectionUUIDMismatch (361).
func (s *Snapshot) CheckUUID(x Expected, r release.Release) error {
	_, want, ok := x.UUID.Binary()
	if !ok {
		return nil
	}
	series := s.Series(x.Namespace)
	if s.byName.get(x.Namespace) == nil && series == nil {
		if virtual := VirtualUUID(x.Namespace.String()); string(virtual[:]) == string(want) {
			return nil
		}
	}
	var actual collection.Namespace
	seen := true
	if found := s.ByUUID([16]byte(want)); found != nil && !found.IsView() {
		if found == series {
			return nil
		}
		if actual = found.Namespace; found.Options.TimeSeries != nil && !r.Has(release.SeriesOneNamespace) {
			actual.Coll = BucketsPrefix + actual.Coll
		}
		seen = x.Viewer == nil || x.Viewer.SeesName(found.Namespace)
	}
	if actual == x.Namespace {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("db", x.DB)
	b.Value("collectionUUID", x.UUID)
	b.String("expectedCollection", x.Coll)
	if actual.DB == x.DB && actual.Coll != "" && seen {
		b.String("actualCollection", actual.Coll)
	} else {
		b.Null("actualCollection")
	}
	return mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified").WithFields(b.Doc().Elements())
}
