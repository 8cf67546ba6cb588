package status

import "github.com/cantledb/cantle/wire/command"

// runConnPoolStats replies with zeros for the pools of connections to other servers, because this server has no such
// pools. Unknown arguments are ignored.
// Manual: reference/command/connPoolStats.
func runConnPoolStats(c *command.Call) error {
	b := c.Reply
	for _, name := range [...]string{"numClientConnections", "numAScopedConnections", "totalInUse", "totalAvailable", "totalLeased", "totalCreated", "totalRefreshing"} {
		b.Int32(name, 0)
	}
	for _, name := range [...]string{"pools", "hosts", "replicaSets"} {
		b.BeginDoc(name)
		b.End()
	}
	return nil
}
