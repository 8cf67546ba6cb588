package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runIsDBGrid answers isdbgrid, by which mongosh recognizes a mongos; a member of a replica set does not have
// this command. Manual: reference/command/isdbgrid.
// Errors: CommandNotFound (59).
func runIsDBGrid(c *command.Call) error {
	if command.IsMember(c) {
		return mongoerr.NoCommand(c.Name())
	}
	c.Reply.Int32("isdbgrid", 1)
	c.Reply.String("hostname", command.Hostname())
	return nil
}
