package data

import "github.com/cantledb/cantle/wire/command"

// runFreeMonitoring reports that free monitoring, a service that no longer exists, is off.
// Manual: reference/command/getFreeMonitoringStatus.
func runFreeMonitoring(c *command.Call) error {
	c.Reply.String("state", "disabled")
	return nil
}
