package command

import (
	"slices"

	"github.com/cantledb/cantle/bson"
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

// Allows is what the user may do; nobody may do nothing.
func (l *Login) Allows() *auth.Grants {
	if l == nil {
		return nil
	}
	return l.Grants
}

// Has reports whether the user has a role, at whatever remove.
func (l *Login) Has(n auth.Name) bool {
	if l == nil {
		return false
	}
	_, ok := slices.BinarySearchFunc(l.Roles, n, auth.Compare)
	return ok
}
