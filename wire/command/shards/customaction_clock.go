package shards

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// clockArgs are the arguments of Clock.
type clockArgs struct {
	stop, run bool
	advance   time.Duration
}

// clockArg reads an argument of Clock.
func clockArg(c *command.Call, a *clockArgs, name string, v bson.Value) (err error) {
	switch name {
	case "stop":
		a.stop, err = c.BoolArg(name, v)
	case "run":
		a.run, err = c.BoolArg(name, v)
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

// clockAdvanceMax is how far one command may move the clock: ten years.
const clockAdvanceMax = 10 * 365 * 24 * time.Hour

// setClock answers {customAction: "Clock", stop: true}, an extension of ours: the
// clock that budgets, expiry and $$NOW go by stands still until it is told to
// advance ({advanceMs: 1000}) or to run again ({run: true}), so that a test of an
// application meets the same throttles every time and waits for none. Where throttled
// requests wait (server-side retry), a wait moves the clock on instead.
func setClock(c *command.Call, a *customArgs) error {
	clock := c.Cluster.Budgets.Clock
	if !c.Server.TestCommands || clock == nil {
		return mongoerr.New(mongoerr.CommandNotFound, "customAction Clock needs a server started with --enable-test-commands")
	}
	if a.clock.stop && a.clock.run {
		return mongoerr.New(mongoerr.BadValue, "the clock either stops or runs")
	}
	if a.clock.stop {
		c.Cluster.Budgets.Divide(clock.Stop(), 1, false) // shares come by another clock
	}
	clock.Advance(a.clock.advance)
	if a.clock.run {
		clock.Run()
	}
	c.Reply.DateTime("now", clock.Now().UnixMilli())
	c.Reply.Bool("stopped", clock.Stopped())
	return nil
}
