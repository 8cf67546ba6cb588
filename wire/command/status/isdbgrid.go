package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runIsDBGrid replies to isdbgrid, by which mongosh recognizes a mongos. If clients see a member of a replica set,
// the command does not exist. Manual: reference/command/isdbgrid.
// Errors: CommandNotFound (59).
func runIsDBGrid(c *command.Call) error {
	if command.IsMember(c) {
		return mongoerr.NoCommand(c.Name())
	}
	c.Reply.Int32("isdbgrid", 1)
	c.Reply.String("hostname", command.Hostname())
	return nil
}
