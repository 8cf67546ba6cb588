package status

import "github.com/cantledb/cantle/wire/command"

// runListCommands lists the commands that the client's listener offers. Unknown arguments are ignored. Manual:
// reference/command/listCommands.
func runListCommands(c *command.Call) error {
	b := c.Reply
	b.BeginDoc("commands")
	for _, d := range c.Server.Table() {
		if !c.Offers(d) {
			continue
		}
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
