package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runBalancerStart answers balancerStart: the balancer splits and merges partitions from now on.
// Manual: reference/command/balancerStart.
func (s *State) runBalancerStart(c *command.Call) error { return s.setBalancer(c, false) }

// runBalancerStop answers balancerStop. Manual: reference/command/balancerStop.
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

// switchBalancer switches automatic splits and merges on or off, and stores that.
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

// runBalancerCollectionStatus answers balancerCollectionStatus: a collection is always balanced, because its
// partitions share its throughput evenly.
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

// balancerSettings is the collection that shows the balancer's state.
var balancerSettings = collection.Namespace{DB: "config", Coll: "settings"}

// Reading the state of the balancer needs find on this collection, changing it needs update.
var (
	readsBalancer  = []command.Need{{Action: "find", On: balancerSettings}}
	writesBalancer = []command.Need{{Action: "update", On: balancerSettings}}
)
