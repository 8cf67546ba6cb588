package command

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/arguments"
)

// SeesName reports whether the user may see that a collection exists: whether it may do anything there.
func (c *Call) SeesName(ns collection.Namespace) bool {
	return !c.Server.RequireAuth || c.ConnState.Login.Grants.SomethingOn(ns)
}

// ExpectUUID returns the row of the argument collectionUUID: the UUID that the command's namespace, ns, must have. The
// data plane checks it in the state that the command reads or changes.
// Errors: TypeMismatch (14), InvalidUUID (207); later CollectionUUIDMismatch (361).
func (c *Call) ExpectUUID(ns collection.Namespace) arguments.Arg {
	c.Op.Expected.Namespace, c.Op.Expected.Viewer = ns, c
	return arguments.UUID("collectionUUID", &c.Op.Expected.UUID)
}
