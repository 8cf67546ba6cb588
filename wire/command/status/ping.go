package status

import "github.com/cantledb/cantle/wire/command"

// runPing answers. Manual: reference/command/ping.
func runPing(c *command.Call) error { return c.NoArguments() }
