package command

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/arguments"
)

// ExpectUUID returns the row of the argument collectionUUID: the UUID that the command's namespace, ns, must have. The
// data plane checks it in the state that the command reads or changes.
// Errors: TypeMismatch (14), InvalidUUID (207); later CollectionUUIDMismatch (361).
func (c *Call) ExpectUUID(ns collection.Namespace) arguments.Arg {
	c.Op.Expected.Namespace = ns
	return arguments.UUID("collectionUUID", &c.Op.Expected.UUID)
}
