package catalog

import "github.com/cantledb/cantle/collection"

// names holds the collections and views of a snapshot by name, with a tree for each database, so
// that one database is listed without visiting the others. A copy is not affected by later puts, as with
// entries.
type names struct {
	databases entries[string, *node[string, *Collection]]
}

// in returns the collections of a database.
func (n names) in(db string) entries[string, *Collection] {
	return entries[string, *Collection]{n.databases.get(db)}
}

// get returns the collection or view of a name; nil if there is none.
func (n names) get(ns collection.Namespace) *Collection { return n.in(ns.DB).get(ns.Coll) }

// put binds a name to a collection; nil removes the name.
func (n *names) put(ns collection.Namespace, c *Collection) {
	own := n.in(ns.DB)
	own.put(ns.Coll, c)
	n.databases.put(ns.DB, own.root)
}

// each yields all collections and views, in no particular order.
func (n names) each(yield func(*Collection) bool) {
	for _, own := range n.databases.each {
		if !own.each(func(_ string, c *Collection) bool { return yield(c) }) {
			return
		}
	}
}
