package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runTestVersion2 runs a command that is not in version 1 of the stable API. It does nothing: the drivers' tests check
// that apiStrict refuses it. Without TestCommands the command does not exist. Spec: versioned-api (tests).
func runTestVersion2(c *command.Call) error {
	if !c.Server.TestCommands {
		return mongoerr.NoCommand(c.Name())
	}
	return c.NoArguments()
}
