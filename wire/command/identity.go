package command

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/auth"
)

// Login holds the logged-in user of a connection with its roles and privileges. It is immutable: after a change of
// users or roles, the next command on the connection replaces it by a new Login.
type Login struct {
	Name      auth.Name
	ID        [16]byte // of the user; a later user of the same name has a different ID
	Mechanism auth.Mechanism
	Account   bool // it is the account of the Cosmos listener, which is not in the directory
	Version   uint64
	Roles     []auth.Name // direct and inherited roles, sorted
	Grants    *auth.Grants
	// RequestMax and RoleRequestMax are the default caps of the user's commands: the user's own, and the smallest of the
	// roles; 0 for none.
	RequestMax, RoleRequestMax ratelimit.MicroRU
	// RolesValue is the value of $$USER_ROLES.
	RolesValue bson.Value
}

// User returns the user; the zero User without a login.
func (l *Login) User() collection.User {
	if l == nil {
		return collection.User{}
	}
	return collection.User{Name: l.Name.Name, DB: l.Name.DB, ID: l.ID}
}

// Allows returns the privileges of the user; nil, which allows nothing, without a login.
func (l *Login) Allows() *auth.Grants {
	if l == nil {
		return nil
	}
	return l.Grants
}

// MaySeeValues reports whether a user may see values of a collection's documents outside of queries, as in a list of
// hot shard key values. Every user that may read the documents may see them.
func (s *Server) MaySeeValues(l *Login, ns collection.Namespace) bool {
	return !s.RequireAuth || l.Allows().May(auth.Find, ns)
}

// SeesValues reports whether the user of the command may see values of a collection's documents outside of queries.
func (c *Call) SeesValues(ns collection.Namespace) bool {
	return c.Server.MaySeeValues(c.ConnState.Login, ns)
}

// MaySeeBounds reports whether a user may see the bounds of a collection's partitions. Under a ranged shard key the
// bounds are values of documents: they are visible to users that may read the documents, and to users that may read
// config.chunks, where MongoDB shows bounds.
func (s *Server) MaySeeBounds(l *Login, ns collection.Namespace) bool {
	return s.MaySeeValues(l, ns) || l.Allows().May(auth.Find, collection.Namespace{DB: "config", Coll: "chunks"})
}

// Has reports whether the user has a role, directly or through other roles.
func (l *Login) Has(n auth.Name) bool {
	if l == nil {
		return false
	}
	_, ok := slices.BinarySearchFunc(l.Roles, n, auth.Compare)
	return ok
}
