package access

import "github.com/cantledb/cantle/wire/command"

// runWhatsMyURI replies with the host and port of the client. Unknown arguments are ignored.
// Manual: reference/command/whatsmyuri.
func runWhatsMyURI(c *command.Call) error {
	c.Reply.String("you", c.Conn.Remote().String())
	return nil
}
