package auth

import (
	"strings"

	"github.com/cantledb/cantle/collection"
)

// Grants are the privileges of a user, indexed by resource for fast checks. Immutable; nil grants nothing.
type Grants struct {
	any     Actions // on every resource
	cluster Actions
	normal  Actions                          // {db: "", collection: ""}
	dbs     map[string]Actions               // {db, collection: ""}
	colls   map[string]Actions               // {db: "", collection}
	spaces  map[collection.Namespace]Actions // {db, collection}
	buckets map[collection.Namespace]Actions // {db, system_buckets}, with empty names for any
	list    []Privilege
}

// NewGrants indexes privileges.
func NewGrants(list []Privilege) *Grants {
	g := &Grants{list: Merge(list), dbs: map[string]Actions{}, colls: map[string]Actions{},
		spaces: map[collection.Namespace]Actions{}, buckets: map[collection.Namespace]Actions{}}
	for _, p := range g.list {
		r := p.Resource
		ns := collection.Namespace{DB: r.DB, Coll: r.Coll}
		switch {
		case r.Kind == OnAny:
			g.any = g.any.Union(p.Actions)
		case r.Kind == OnCluster:
			g.cluster = g.cluster.Union(p.Actions)
		case r.Kind == OnBuckets:
			g.buckets[ns] = g.buckets[ns].Union(p.Actions)
		case r.DB == "" && r.Coll == "":
			g.normal = g.normal.Union(p.Actions)
		case r.Coll == "":
			g.dbs[r.DB] = g.dbs[r.DB].Union(p.Actions)
		case r.DB == "":
			g.colls[r.Coll] = g.colls[r.Coll].Union(p.Actions)
		default:
			g.spaces[ns] = g.spaces[ns].Union(p.Actions)
		}
	}
	return g
}

// Privileges lists the grants, each resource once.
func (g *Grants) Privileges() []Privilege {
	if g == nil {
		return nil
	}
	return g.list
}

// MayCluster reports whether an action on the cluster is allowed.
func (g *Grants) MayCluster(a Action) bool {
	return g != nil && (g.any.Has(a) || g.cluster.Has(a))
}

// MayEverywhere reports whether an action is allowed on every ordinary database.
func (g *Grants) MayEverywhere(a Action) bool {
	return g != nil && (g.any.Has(a) || g.normal.Has(a))
}

// May reports whether an action is allowed on a collection, or on a database if ns.Coll is
// empty. A privilege on a whole database, or on all databases, does not cover the
// collections whose names begin with "system.". A privilege on all databases does not cover
// config and local either, except for the administration of their users and roles: an
// administrator of all users may allow a user to read local, which monitoring agents
// require.
// Manual: reference/resource-document. Observed: the instructions of mongodb_exporter.
func (g *Grants) May(a Action, ns collection.Namespace) bool {
	if g == nil {
		return false
	}
	if g.any.Has(a) {
		return true
	}
	if !strings.HasPrefix(ns.Coll, "system.") {
		if g.normal.Has(a) && (ns.DB != "config" && ns.DB != "local" || ns.Coll == "" && userAdminActions.Has(a)) {
			return true
		}
		if len(g.dbs) > 0 && g.dbs[ns.DB].Has(a) {
			return true
		}
	} else if name, ok := strings.CutPrefix(ns.Coll, "system.buckets."); ok && g.mayBuckets(a, ns.DB, name) {
		return true
	}
	if ns.Coll == "" {
		return false
	}
	return len(g.colls) > 0 && g.colls[ns.Coll].Has(a) || len(g.spaces) > 0 && g.spaces[ns].Has(a)
}

func (g *Grants) mayBuckets(a Action, db, coll string) bool {
	for _, ns := range [...]collection.Namespace{{DB: db, Coll: coll}, {DB: db}, {Coll: coll}, {}} {
		if g.buckets[ns].Has(a) {
			return true
		}
	}
	return false
}

// SomethingIn reports whether any action is allowed on a database or on one of its collections; privileges on a
// collection name in all databases, and on buckets, do not count. If so, the server may show the name of the database
// to the user.
func (g *Grants) SomethingIn(db string) bool {
	if g == nil {
		return false
	}
	if !g.any.IsEmpty() || !g.normal.IsEmpty() && db != "config" && db != "local" || !g.dbs[db].IsEmpty() {
		return true
	}
	for ns := range g.spaces {
		if ns.DB == db {
			return true
		}
	}
	return false
}

// SomethingOn reports whether any action is allowed on a collection; privileges on buckets do not count.
func (g *Grants) SomethingOn(ns collection.Namespace) bool {
	if g == nil {
		return false
	}
	if !g.any.IsEmpty() || !g.spaces[ns].IsEmpty() || !g.colls[ns.Coll].IsEmpty() {
		return true
	}
	return !strings.HasPrefix(ns.Coll, "system.") &&
		(!g.dbs[ns.DB].IsEmpty() || !g.normal.IsEmpty() && ns.DB != "config" && ns.DB != "local")
}
