package command

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
)

// Login is the proven user of a connection, with what it may do. Immutable: when
// users or roles change, the next command of the connection makes a new one.
type Login struct {
	Name      auth.Name
	ID        [16]byte // of the user, which tells it from a later one of that name
	Mechanism auth.Mechanism
	Account   bool // the account of the Cosmos listener, which no directory holds
	Version   uint64
	Roles     []auth.Name // all it leads to, in order
	Grants    *auth.Grants
	// RolesValue is $$USER_ROLES.
	RolesValue bson.Value
}

// User names the user; nobody without a login.
func (l *Login) User() collection.User {
	if l == nil {
		return collection.User{}
	}
	return collection.User{Name: l.Name.Name, DB: l.Name.DB, ID: l.ID}
}

// Allows is what the user may do; nobody may do nothing.
func (l *Login) Allows() *auth.Grants {
	if l == nil {
		return nil
	}
	return l.Grants
}

// TellsValues reports whether a user is told values that documents of a collection have, as in a list of hot shard key
// values: those who may read the documents are.
func (s *Server) TellsValues(l *Login, ns collection.Namespace) bool {
	return !s.RequireAuth || l.Allows().May(auth.Find, ns)
}

// TellsBounds reports whether a user is told where partitions of a collection begin, which under a ranged shard key are
// such values: also those are who may read config.chunks, where MongoDB shows them.
func (s *Server) TellsBounds(l *Login, ns collection.Namespace) bool {
	return s.TellsValues(l, ns) || l.Allows().May(auth.Find, collection.Namespace{DB: "config", Coll: "chunks"})
}

// Has reports whether the user has a role, at whatever remove.
func (l *Login) Has(n auth.Name) bool {
	if l == nil {
		return false
	}
	_, ok := slices.BinarySearchFunc(l.Roles, n, auth.Compare)
	return ok
}
