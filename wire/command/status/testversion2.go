package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runTestVersion2 stands for a command that version 1 of the stable API does not
// have: the drivers' tests look how it is refused. Spec: versioned-api (tests).
func runTestVersion2(c *command.Call) error {
	if !c.Server.TestCommands {
		return mongoerr.NoCommand(c.Name())
	}
	return c.NoArguments()
}
