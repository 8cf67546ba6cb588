package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runIsDBGrid tells mongosh that this is a mongos; where it is not, there is no
// such command. Manual: reference/command/isdbgrid.
// Errors: CommandNotFound (59).
func runIsDBGrid(c *command.Call) error {
	if command.IsMember(c) {
		return mongoerr.NoCommand(c.Name())
	}
	c.Reply.Int32("isdbgrid", 1)
	c.Reply.String("hostname", command.Hostname())
	return nil
}
