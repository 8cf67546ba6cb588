package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runGetLastError refuses getLastError, the command by which clients confirmed writes before write concerns existed.
// Clients of the Cosmos listener get a reply without an error: all writes there are acknowledged, so no error is left
// to report.
// Manual: reference/command/getLastError (removed in 5.1). Source: "feature-support-70".
func runGetLastError(c *command.Call) error {
	if c.Strict() {
		c.Reply.Int32("connectionId", int32(c.Conn.ID()))
		c.Reply.Int32("n", 0)
		c.Reply.Null("err")
		return nil
	}
	return mongoerr.New(5739000, "%s command is not supported. The client driver may require an upgrade. "+
		"For more details see https://dochub.mongodb.org/core/legacy-opcode-removal", c.Name())
}
