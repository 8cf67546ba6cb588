package data

import (
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// runLastRequestStatistics tells what the last command of the session, or
// without a session of the connection, cost.
// Source: Azure Cosmos DB for MongoDB, find-request-unit-charge.
func runLastRequestStatistics(c *command.Call) error {
	last := c.Peer.Last
	if !c.Args.ID.IsZero() {
		if s, ok := c.Server.Charges.Get(c.Args.ID); ok {
			last = s
		}
	}
	b := c.Reply
	b.String("_t", "GetRequestStatisticsResponse")
	b.String("CommandName", last.Command)
	b.Double("RequestCharge", ratelimit.MicroRU(last.Charge).Float())
	b.Double("RequestDurationInMilliSeconds", float64(last.Took.Microseconds())/1000)
	return nil
}
