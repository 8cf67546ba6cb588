package data

import (
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// runLastRequestStatistics returns the charge of the last command of the session or, if the session has none, of the
// last one without a session on the connection. The fields are those of Azure accounts since 2021: whole
// milliseconds, the wait by server-side retry, and the request's identifier as text.
// Source: Azure Cosmos DB for MongoDB, find-request-unit-charge; cjoakim/azure-cosmos-db, apis/mongo/java/readme.md.
func runLastRequestStatistics(c *command.Call) error {
	last := c.ConnState.Last
	if !c.Args.ID.IsZero() {
		if s, ok := c.Server.Charges.Get(c.Args.ID); ok {
			last = s
		}
	}
	b := c.Reply
	b.String("CommandName", last.Command)
	b.Double("RequestCharge", ratelimit.MicroRU(last.Charge).Float())
	b.Int64("RequestDurationInMilliSeconds", last.Took.Milliseconds())
	b.Int64("EstimatedDelayFromRateLimitingInMilliseconds", last.Waited.Milliseconds())
	b.Bool("RetriedDueToRateLimiting", last.Waited > 0)
	b.String("ActivityId", last.Activity.String())
	return nil
}
