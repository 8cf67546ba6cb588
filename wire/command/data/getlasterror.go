package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runGetLastError refuses the command that acknowledged writes before there were write concerns. An account
// of Azure Cosmos DB answers it: because all writes are acknowledged, there is no error to report.
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
