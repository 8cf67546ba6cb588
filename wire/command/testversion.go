package command

import "github.com/cantledb/cantle/collection/mongoerr"

// runTestVersion2 stands for a command that version 1 of the stable API does not
// have: the drivers' tests look how it is refused. Spec: versioned-api (tests).
func runTestVersion2(c *Call) error {
	if !c.TestCommands {
		return mongoerr.NoCommand(c.Name())
	}
	return c.noArguments()
}
