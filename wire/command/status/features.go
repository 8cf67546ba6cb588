package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runFeatures replies to features, an old command by which clients find out the abilities of a server.
// Manual: reference/command/features.
func runFeatures(c *command.Call) error {
	err := c.ReadArgs(arguments.Ignored("oidReset"))
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginDoc("js")
	b.Bool("utf8", true)
	b.End()
	id := bson.NewObjectID()
	b.Int32("oidMachine", int32(id[4])<<16|int32(id[5])<<8|int32(id[6]))
	return nil
}
