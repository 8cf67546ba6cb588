package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Snapshot is the whole catalog at one version. Immutable.
type Snapshot struct {
	Version   uint64
	databases entries[string, *Database]
	byName    names
	byID      entries[keyspace.CollectionID, *Collection]
	held      entries[string, int64] // bytes counted for the collections of each database
	heldAll   int64                  // and for those of all databases

	// replaced is closed when another snapshot becomes current; nil in the views of Adopt and Without.
	replaced chan struct{}
}

func newSnapshot(version uint64) *Snapshot {
	return &Snapshot{Version: version, replaced: make(chan struct{})}
}

// Replaced returns a channel that is closed once another snapshot is current, so that a waiter for a change of the
// catalog can check again; nil for a view of Adopt or Without.
func (s *Snapshot) Replaced() <-chan struct{} { return s.replaced }

// Adopt returns a view of the snapshot that also has c, a collection that a transaction has created since; the
// transaction continues with the view. The view is never current.
func (s *Snapshot) Adopt(c *Collection) *Snapshot {
	n := &Snapshot{Version: s.Version, databases: s.databases, byName: s.byName, byID: s.byID}
	if n.databases.get(c.Namespace.DB) == nil {
		n.databases.put(c.Namespace.DB, &Database{Name: c.Namespace.DB})
	}
	n.byName.put(c.Namespace, c)
	n.byID.put(c.ID, c)
	return n
}

// Without returns a view of the snapshot without a collection, for a read at a time
// when it did not exist. The view is never current.
func (s *Snapshot) Without(c *Collection) *Snapshot {
	n := &Snapshot{Version: s.Version, databases: s.databases, byName: s.byName, byID: s.byID}
	n.byName.put(c.Namespace, nil)
	n.byID.put(c.ID, nil)
	return n
}

// Collection returns a collection or view; nil if there is none.
func (s *Snapshot) Collection(ns collection.Namespace) *Collection { return s.byName.get(ns) }

// ByID returns a collection by its number; nil if there is none.
func (s *Snapshot) ByID(id keyspace.CollectionID) *Collection { return s.byID.get(id) }

// ByUUID returns a collection by its UUID; nil if there is none.
func (s *Snapshot) ByUUID(uuid [16]byte) *Collection {
	for coll := range s.byName.each {
		if coll.UUID == uuid {
			return coll
		}
	}
	return nil
}

// Lookup returns a collection or view.
// Errors: NamespaceNotFound (26).
func (s *Snapshot) Lookup(ns collection.Namespace) (*Collection, error) {
	if c := s.byName.get(ns); c != nil {
		return c, nil
	}
	return nil, mongoerr.NoNamespace(ns.String())
}

// viewDepthMax bounds views over views. Manual: core/views.
const viewDepthMax = 20

// Resolve follows view definitions to the collection that holds the documents. It returns this
// collection, nil if it does not exist, its namespace, and the stages to run on it first.
// Errors: ViewDepthLimitExceeded (165).
func (s *Snapshot) Resolve(ns collection.Namespace) (c *Collection, coll collection.Namespace, stages []bson.Raw, err error) {
	for range viewDepthMax {
		c := s.byName.get(ns)
		if c == nil || !c.IsView() {
			return c, ns, stages, nil
		}
		stages = append(append([]bson.Raw(nil), c.Options.Pipeline...), stages...)
		ns.Coll = c.Options.ViewOn
	}
	return nil, ns, nil, mongoerr.New(165, "View depth too deep or view cycle detected on %s; a chain of views may have %d links", ns, viewDepthMax)
}

// BucketsPrefix begins the names under which clients read the buckets of time-series collections.
const BucketsPrefix = "system.buckets."

// Series returns the time-series collection whose buckets a namespace names; nil for none.
func (s *Snapshot) Series(ns collection.Namespace) *Collection {
	name, ok := strings.CutPrefix(ns.Coll, BucketsPrefix)
	if !ok || s.byName.get(ns) != nil {
		return nil
	}
	if c := s.byName.get(collection.Namespace{DB: ns.DB, Coll: name}); c != nil && c.Options.TimeSeries != nil {
		return c
	}
	return nil
}

// Database returns a database that was created or holds a collection; nil if there is none.
func (s *Snapshot) Database(name string) *Database { return s.databases.get(name) }

// Databases lists all databases by name.
func (s *Snapshot) Databases() []*Database {
	var out []*Database
	for _, d := range s.databases.each {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *Database) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Collections lists the collections and views of a database by name. If db is empty, it lists those
// of all databases.
func (s *Snapshot) Collections(db string) []*Collection {
	var out []*Collection
	if db != "" {
		for _, c := range s.byName.in(db).each {
			out = append(out, c)
		}
	} else {
		out = slices.AppendSeq(out, s.byName.each)
	}
	slices.SortFunc(out, func(a, b *Collection) int {
		return cmp.Or(strings.Compare(a.Namespace.DB, b.Namespace.DB), strings.Compare(a.Namespace.Coll, b.Namespace.Coll))
	})
	return out
}

// Each visits all collections and views, in no particular order, until visit returns false. Callers
// that only count need no list.
func (s *Snapshot) Each(visit func(*Collection) bool) { s.byName.each(visit) }

// EachMap visits everything that has a shard map: all collections but views.
func (s *Snapshot) EachMap(visit func(coll *Collection)) {
	for _, coll := range s.Collections("") {
		if coll.Map != nil {
			visit(coll)
		}
	}
}

// EachSharded visits the sharded collections.
func (s *Snapshot) EachSharded(visit func(coll *Collection)) {
	for _, coll := range s.Collections("") {
		if coll.Sharded() {
			visit(coll)
		}
	}
}

// Changes calls visit for each collection and view whose entry differs from that in an earlier
// snapshot of the same catalog: was is nil for a new one, is for a dropped one. Its cost depends
// only on the number of changes in between.
func (s *Snapshot) Changes(since *Snapshot, visit func(was, is *Collection)) {
	s.byID.changes(since.byID, visit)
}
