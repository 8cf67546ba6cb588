package shards

import "github.com/cantledb/cantle/wire/command"

// runListShards answers listShards. Manual: reference/command/listShards.
func (s *State) runListShards(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.BeginArray("shards")
	for _, d := range s.shardDocs() {
		c.Reply.Raw("", d)
	}
	c.Reply.End()
	return nil
}
