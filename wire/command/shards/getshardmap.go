package shards

import "github.com/cantledb/cantle/wire/command"

// runGetShardMap answers getShardMap. Manual: reference/command/getShardMap.
func (s *State) runGetShardMap(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	at := c.Server.Address()
	c.Reply.BeginDoc("map")
	for _, id := range s.shardIDs() {
		c.Reply.String(command.ShardName(id), s.shardHost(id))
	}
	c.Reply.String("config", at)
	c.Reply.End()
	c.Reply.BeginDoc("hosts")
	c.Reply.String(at, command.ShardName(0))
	c.Reply.End()
	c.Reply.BeginDoc("connStrings")
	for _, id := range s.shardIDs() {
		c.Reply.String(s.shardHost(id), command.ShardName(id))
	}
	c.Reply.End()
	return nil
}
