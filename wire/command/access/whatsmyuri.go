package access

import "github.com/cantledb/cantle/wire/command"

// runWhatsMyURI tells the client its address as seen from here. Unknown
// arguments are ignored. Manual: reference/command/whatsmyuri.
func runWhatsMyURI(c *command.Call) error {
	c.Reply.String("you", c.Conn.Remote().String())
	return nil
}
