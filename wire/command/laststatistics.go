package command

import (
	"github.com/cantledb/cantle/ratelimit"
)

// runLastRequestStatistics tells what the last command of the session, or
// without a session of the connection, cost.
// Source: Azure Cosmos DB for MongoDB, find-request-unit-charge.
func runLastRequestStatistics(c *Call) error {
	last := c.Peer.last
	if !c.Args.ID.IsZero() {
		if s, ok := c.charges.get(c.Args.ID); ok {
			last = s
		}
	}
	b := c.Reply
	b.String("_t", "GetRequestStatisticsResponse")
	b.String("CommandName", last.command)
	b.Double("RequestCharge", ratelimit.MicroRU(last.charge).Float())
	b.Double("RequestDurationInMilliSeconds", float64(last.took.Microseconds())/1000)
	return nil
}
