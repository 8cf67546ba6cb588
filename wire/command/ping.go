package command

import "github.com/cantledb/cantle/bson"

// runPing answers. Manual: reference/command/ping.
func runPing(c *Call) error { return c.noArguments() }

// noArguments refuses every argument of a command that has none.
// Errors: IDLUnknownField (40415).
func (c *Call) noArguments() error {
	return c.Each(func(string, bson.Value) (bool, error) { return false, nil })
}
