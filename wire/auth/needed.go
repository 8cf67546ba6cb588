package auth

import "github.com/cantledb/cantle/collection"

// Needed is an action that a command needs of its user.
type Needed struct {
	Action Action
	// On is the namespace that it is on, without a Coll the database, if it is on one.
	On    collection.Namespace
	Reach Reach
}

// Reach says on what an action is needed.
type Reach uint8

// The reaches: a namespace or a database; the cluster; every ordinary database.
const (
	OneNamespace Reach = iota
	TheCluster
	Everywhere
)

// Has reports whether the grants have what is needed.
func (g *Grants) Has(n Needed) bool {
	switch n.Reach {
	case TheCluster:
		return g.MayCluster(n.Action)
	case Everywhere:
		return g.MayEverywhere(n.Action)
	}
	return g.May(n.Action, n.On)
}
