package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runGetLastError refuses what acknowledged writes were before write concerns.
// Manual: reference/command/getLastError (removed in 5.1).
func runGetLastError(c *command.Call) error {
	return mongoerr.New(5739000, "%s command is not supported. The client driver may require an upgrade. "+
		"For more details see https://dochub.mongodb.org/core/legacy-opcode-removal", c.Name())
}
