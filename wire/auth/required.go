package auth

import "github.com/cantledb/cantle/collection"

// Needed is an action that a command requires.
type Needed struct {
	Action Action
	// On is the namespace on which the action is required, or the database if Coll is empty. It is used only if Reach
	// is OneNamespace.
	On    collection.Namespace
	Reach Reach
}

// Reach is the kind of resource on which an action is required.
type Reach uint8

// The kinds: a namespace or a database; the cluster; every ordinary database.
const (
	OneNamespace Reach = iota
	TheCluster
	Everywhere
)

// Has reports whether the grants include the required action.
func (g *Grants) Has(n Needed) bool {
	switch n.Reach {
	case TheCluster:
		return g.MayCluster(n.Action)
	case Everywhere:
		return g.MayEverywhere(n.Action)
	}
	return g.May(n.Action, n.On)
}
