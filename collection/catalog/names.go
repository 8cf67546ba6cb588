package catalog

import "github.com/cantledb/cantle/collection"

// names are the collections and views of a snapshot by their names: a tree for each database, so
// that one is listed without looking at the others. A copy is as it was, as with entries.
type names struct {
	databases entries[string, *node[string, *Collection]]
}

// in are the collections of a database.
func (n names) in(db string) entries[string, *Collection] {
	return entries[string, *Collection]{n.databases.get(db)}
}

// get finds what has a name, nil if nothing does.
func (n names) get(ns collection.Namespace) *Collection { return n.in(ns.DB).get(ns.Coll) }

// put gives a name to a collection; nil takes it away.
func (n *names) put(ns collection.Namespace, c *Collection) {
	own := n.in(ns.DB)
	own.put(ns.Coll, c)
	n.databases.put(ns.DB, own.root)
}

// each yields all in no order.
func (n names) each(yield func(*Collection) bool) {
	for _, own := range n.databases.each {
		if !own.each(func(_ string, c *Collection) bool { return yield(c) }) {
			return
		}
	}
}
