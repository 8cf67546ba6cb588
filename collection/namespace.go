package collection

import "strings"

// Namespace is the name of a collection with that of its database: "shop.orders". Coll is empty if a command
// concerns a whole database.
type Namespace struct{ DB, Coll string }

// ParseNamespace splits "db.coll" at the first dot; collection names may hold
// further dots.
func ParseNamespace(s string) Namespace {
	db, coll, _ := strings.Cut(s, ".")
	return Namespace{db, coll}
}

// String returns "db.coll", or "db" without a collection.
func (n Namespace) String() string {
	if n.Coll == "" {
		return n.DB
	}
	return n.DB + "." + n.Coll
}
