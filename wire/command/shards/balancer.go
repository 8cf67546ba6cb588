package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runBalancerStart starts the balancer: from now on it splits and merges partitions.
// Manual: reference/command/balancerStart.
func (s *State) runBalancerStart(c *command.Call) error { return s.setBalancer(c, false) }

// runBalancerStop stops the balancer, so that it splits and merges no partitions. Manual:
// reference/command/balancerStop.
func (s *State) runBalancerStop(c *command.Call) error { return s.setBalancer(c, true) }

// setBalancer reads the arguments of both commands, and switches the balancer.
func (s *State) setBalancer(c *command.Call, off bool) error {
	err := c.ReadArgs(arguments.Ignored("maxTimeMS"))
	if err != nil {
		return err
	}
	return s.switchBalancer(c, off)
}

// balancerName is the name of the stored setting.
const balancerName = "balancer"

// switchBalancer switches the balancer's splits and merges on or off, for all servers, and stores that.
func (s *State) switchBalancer(c *command.Call, off bool) error {
	return s.balancer.Change(c.Ctx, func() (bson.Raw, error) {
		b := bson.NewBuilder(nil)
		b.Bool("stopped", off)
		return b.Doc(), nil
	})
}

// applyBalancer applies the stored setting.
func (s *State) applyBalancer(doc bson.Raw) {
	off := doc.Get("stopped").Truthy()
	s.balancerOff.Store(off)
	if s.Balance != nil {
		s.Balance(!off)
	}
}

// runBalancerStatus answers balancerStatus.
// Manual: reference/command/balancerStatus.
func (s *State) runBalancerStatus(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.String("mode", s.balancerMode())
	c.Reply.Bool("inBalancerRound", false)
	c.Reply.Int64("numBalancerRounds", 0)
	c.Reply.String("term", "n/a")
	return nil
}

// balancerMode returns the mode of the balancer in config.settings and balancerStatus.
func (s *State) balancerMode() string {
	if s.balancerOff.Load() {
		return "off"
	}
	return "full"
}

// runBalancerCollectionStatus reports every sharded collection as balanced, because it has no data on a wrong shard.
// Manual: reference/command/balancerCollectionStatus.
func runBalancerCollectionStatus(c *command.Call) error {
	if _, err := shardedCollection(c); err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.Int32("chunkSize", 128)
	c.Reply.Bool("balancerCompliant", true)
	return nil
}

// balancerSettings is the namespace config.settings, in which clients see the state of the balancer.
var balancerSettings = collection.Namespace{DB: "config", Coll: "settings"}

// A command that reads the state of the balancer needs the action find on config.settings, one that changes the state
// needs update.
var (
	readsBalancer  = []command.Need{{Action: "find", On: balancerSettings}}
	writesBalancer = []command.Need{{Action: "update", On: balancerSettings}}
)
