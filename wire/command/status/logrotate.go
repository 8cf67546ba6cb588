package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runLogRotate only checks its arguments: the log goes to the standard output, and other programs rotate it.
// Manual: reference/command/logRotate.
func runLogRotate(c *command.Call) error {
	switch s, ok := c.Value.Str(); {
	case ok && c.Value.Type == bson.TypeString:
		if s != "server" {
			return mongoerr.New(mongoerr.NoSuchKey, "Unknown log type '%s'", s)
		}
	case c.Value.IsNumber() || c.Value.Type == bson.TypeBool:
	default:
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "bool", "int", "long", "double", "decimal", "string")
	}
	return c.NoArguments()
}
