package access

import "github.com/cantledb/cantle/wire/command"

// runWhatsMyURI returns the client's address as the server sees it. Unknown arguments are ignored.
// Manual: reference/command/whatsmyuri.
func runWhatsMyURI(c *command.Call) error {
	c.Reply.String("you", c.Conn.Remote().String())
	return nil
}
