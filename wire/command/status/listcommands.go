package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runListCommands prints the table. Unknown arguments are ignored.
// Manual: reference/command/listCommands.
func runListCommands(c *command.Call) error {
	b := c.Reply
	b.BeginDoc("commands")
	for _, d := range c.Server.Table() {
		b.BeginDoc(d.Name)
		b.String("help", d.Doc)
		b.Bool("requiresAuth", d.Action != "")
		b.Bool("secondaryOk", true)
		b.Bool("adminOnly", d.Facts.Has(command.AdminOnly))
		b.BeginArray("apiVersions")
		if d.Facts.Has(command.Stable) {
			b.String("", "1")
		}
		b.End()
		emptyArray(b, "deprecatedApiVersions")
		if len(d.Aliases) > 0 {
			b.BeginArray("aliases")
			for _, a := range d.Aliases {
				b.String("", a)
			}
			b.End()
		}
		b.End()
	}
	b.End()
	return nil
}

// runFeatures is an old way to ask what a server can do.
// Manual: reference/command/features.
func runFeatures(c *command.Call) error {
	err := c.Each(func(name string, _ bson.Value) (bool, error) { return name == "oidReset", nil })
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

// runIsDBGrid tells mongosh that this is a mongos; where it is not, there is no
// such command. Manual: reference/command/isdbgrid.
// Errors: CommandNotFound (59).
func runIsDBGrid(c *command.Call) error {
	if command.IsMember(c) {
		return mongoerr.NoCommand(c.Name())
	}
	c.Reply.Int32("isdbgrid", 1)
	c.Reply.String("hostname", command.Hostname())
	return nil
}
