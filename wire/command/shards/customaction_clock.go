package shards

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// clockArgs holds the arguments of Clock.
type clockArgs struct {
	stop, run bool
	advance   time.Duration
	to        time.Time // to which the clock is advanced; the zero time for none
}

// clockArg reads an argument of Clock.
func clockArg(c *command.Call, a *clockArgs, name string, v bson.Value) (err error) {
	switch name {
	case "stop":
		a.stop, err = c.BoolArg(name, v)
	case "run":
		a.run, err = c.BoolArg(name, v)
	case "advanceTo":
		if !v.IsMissing() {
			a.to, err = dateArg(c, name, v)
		}
	case "advanceMs":
		var ms int64
		if !v.IsMissing() {
			if ms, err = wholeArg(c, name, v); err == nil {
				err = arguments.Between(name, ms, 0, clockAdvanceMax.Milliseconds())
			}
		}
		a.advance = time.Duration(ms) * time.Millisecond
	}
	return err
}

// clockAdvanceMax is the longest time by which one command can advance the clock: ten years.
const clockAdvanceMax = 10 * 365 * 24 * time.Hour

// setClock runs {customAction: "Clock", stop: true}, which Azure Cosmos DB does not have, for tests; it exists only
// with --enable-test-commands. The clock of budgets, expiry and $$NOW stops until a command advances it ({advanceMs:
// 1000}, {advanceTo: date}) or starts it again ({run: true}). So the throttles in a test of an application do not depend on how long the
// test takes, and it waits for none. Planned changes of throughput are made before the reply. If throttled requests wait in the server (server-side retry), a wait advances the
// clock instead.
func setClock(c *command.Call, a *customArgs) error {
	clock := c.Cluster.Budgets.Clock
	if !c.Server.TestCommands || clock == nil {
		return mongoerr.New(mongoerr.CommandNotFound, "customAction Clock needs a server started with --enable-test-commands")
	}
	if a.clock.stop && a.clock.run {
		return mongoerr.New(mongoerr.BadValue, "the clock either stops or runs")
	}
	if a.clock.stop {
		c.Cluster.Budgets.SetServers(clock.Stop(), 1, false) // shares follow the store's clock
	}
	if !a.clock.to.IsZero() {
		if a.clock.advance = a.clock.to.Sub(clock.Now()); a.clock.advance < 0 || a.clock.advance > clockAdvanceMax {
			return mongoerr.New(mongoerr.BadValue, "'advanceTo' must be a time of the next ten years: the clock shows %s", clock.Now().UTC().Format(time.RFC3339))
		}
	}
	clock.Advance(a.clock.advance)
	if a.clock.run {
		clock.Run()
	}
	if err := c.Server.Jobs.ApplyPlanned(c.Ctx); err != nil {
		return err
	}
	c.Reply.DateTime("now", clock.Now().UnixMilli())
	c.Reply.Bool("stopped", clock.Stopped())
	return nil
}
