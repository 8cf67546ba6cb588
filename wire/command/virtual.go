package command

import (
	"crypto/md5"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
)

// Virtual collections are made up when they are read: what a sharded cluster
// keeps in its config database, told from the live catalog and shard maps. A
// collection of that name that somebody made takes their place.

// virtual returns the documents of a virtual collection; ok is false when the
// namespace is none.
func (c *Call) virtual(ns collection.Namespace) (docs []bson.Raw, ok bool) {
	return c.Server.virtual(&c.Op, ns)
}

// virtual is cluster.Upper.Virtual.
func (s *Server) virtual(_ *cluster.Op, ns collection.Namespace) (docs []bson.Raw, ok bool) {
	if ns.Coll == "system.views" {
		return s.viewDocs(ns.DB)
	}
	for _, v := range virtuals {
		if v.db == ns.DB && v.coll == ns.Coll {
			return v.docs(s), true
		}
	}
	return nil, false
}

// isDerived reports a namespace without documents of its own, a view or a
// virtual collection: reads of it are aggregations.
func (c *Call) isDerived(ns collection.Namespace) bool {
	if coll := c.Cluster.Catalog.Peek().Collection(ns); coll != nil {
		return coll.IsView()
	}
	return c.isVirtual(ns) || c.Cluster.Catalog.Peek().Series(ns) != nil
}

// isVirtual reports a namespace that is made up, so that reads of it go the way
// of views.
func (c *Call) isVirtual(ns collection.Namespace) bool {
	if ns.Coll == "system.views" {
		return c.Cluster.Catalog.Peek().Collection(ns) == nil && c.hasViews(ns.DB)
	}
	for _, v := range virtuals {
		if v.db == ns.DB && v.coll == ns.Coll {
			return c.Cluster.Catalog.Peek().Collection(ns) == nil
		}
	}
	return false
}

// virtualCollection is one row of the table.
type virtualCollection struct {
	db, coll string
	docs     func(s *Server) []bson.Raw
}

// virtuals is every virtual collection but system.views, which each database
// has. Manual: reference/config-database, reference/local-database.
var virtuals = []virtualCollection{
	{"admin", "system.roles", (*Server).roleDocs},
	{"admin", "system.users", (*Server).userDocs},
	{"admin", "system.version", (*Server).versionDocs},
	{"config", "changelog", noDocs},
	{"config", "chunks", (*Server).chunkDocs},
	{"config", "collections", (*Server).collectionDocs},
	{"config", "databases", (*Server).databaseDocs},
	{"config", "mongos", (*Server).mongosDocs},
	{"config", "queryAnalyzers", (*Server).queryAnalyzerDocs},
	{"config", "settings", (*Server).settingDocs},
	{"config", "shards", (*Server).shardDocs},
	{"config", "system.sessions", (*Server).allSessionDocs},
	{"config", "tags", (*Server).tagDocs},
	{"config", "version", (*Server).clusterDocs},
	{"local", "oplog.rs", noDocs}, // the cluster has an operator for it
	{"local", "startup_log", (*Server).startupDocs},
	{"local", "system.replset", (*Server).setDocs},
}

// listed reports a virtual collection that listCollections shows: the users, the
// roles and the replica set's configuration once there are some, and what a
// sharded cluster keeps in config unless the server is shown as a replica set.
func (s *Server) listed(v *virtualCollection) bool {
	switch {
	case v.coll == "system.users", v.coll == "system.roles", v.coll == "system.replset":
		return len(v.docs(s)) > 0
	case v.db == "config" && s.ReplicaSet.Name != "":
		return v.coll == "system.sessions"
	}
	return true
}

// userDocs is admin.system.users, roleDocs is admin.system.roles.
// Manual: reference/system-users-collection, reference/system-roles-collection.
func (s *Server) userDocs() (docs []bson.Raw) {
	for _, u := range s.Auth.Users("") {
		docs = append(docs, u.Doc())
	}
	return docs
}

func (s *Server) roleDocs() (docs []bson.Raw) {
	for _, r := range s.Auth.Roles("") {
		docs = append(docs, r.Doc())
	}
	return docs
}

func noDocs(*Server) []bson.Raw { return nil }

// virtualNames lists the virtual collections of a database.
func (s *Server) virtualNames(db string) (names []string) {
	for _, v := range virtuals {
		if v.db == db && s.listed(&v) {
			names = append(names, v.coll)
		}
	}
	return names
}

// virtualUUID is a UUID that a name always has.
func virtualUUID(name string) [16]byte {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30 // version 3: from a name
	u[8] = u[8]&0x3f | 0x80
	return u
}

// viewDocs is <db>.system.views. Manual: core/views.
func (s *Server) viewDocs(db string) (docs []bson.Raw, ok bool) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections(db) {
		if !coll.IsView() {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("_id", coll.Namespace.String())
		b.Splice(coll.Options.Raw.Elements())
		docs = append(docs, b.Doc())
	}
	return docs, len(docs) > 0
}

// featureVersion is the feature compatibility version: CompatibleVersion without
// its last part.
const featureVersion = "7.0"

// versionDocs is admin.system.version.
func (s *Server) versionDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "featureCompatibilityVersion")
	b.String("version", featureVersion)
	return []bson.Raw{b.Doc()}
}

// startupDocs is local.startup_log: this start only.
func (s *Server) startupDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "cantle-"+s.Started.UTC().Format("20060102T150405.000"))
	b.DateTime("startTime", s.Started.UnixMilli())
	b.String("startTimeLocal", s.Started.Format("Mon Jan _2 15:04:05.000"))
	b.BeginDoc("cmdLine")
	b.End()
	b.BeginDoc("buildinfo")
	b.String("version", CompatibleVersion)
	b.End()
	return []bson.Raw{b.Doc()}
}

func sortStrings(s []string) { sort.Strings(s) }
