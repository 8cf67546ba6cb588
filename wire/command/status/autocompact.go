package status

import (
	"math"
	"sync"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// autoCompact holds the arguments of the last autoCompact command. They have no effect: the storage engine always
// compacts in the background.
type autoCompact struct {
	mu     sync.Mutex
	on     bool
	target int64 // MB
	once   bool
}

// runAutoCompact accepts a request to turn background compaction on or off, but changes nothing except the reply to a
// later request with other arguments.
// Manual: reference/command/autoCompact.
func (s *State) runAutoCompact(c *command.Call) error {
	field := c.Field(c.Name())
	if c.Value.IsNullish() {
		return mongoerr.MissingField(field)
	}
	on, ok := c.Value.Boolean()
	if !ok {
		return mongoerr.WrongType(field, c.Value.Type.String(), "bool")
	}
	target, once := int64(20), false
	err := c.ReadArgs(
		arguments.Long("freeSpaceTargetMB", &target).From(1),
		arguments.StrictBool("runOnce", &once),
	)
	if err != nil {
		return err
	}
	if on && target > math.MaxInt64>>20 {
		return mongoerr.New(mongoerr.BadValue, "freeSpaceTargetMB %d is too large", target)
	}
	a := &s.autoCompact
	a.mu.Lock()
	defer a.mu.Unlock()
	if on && a.on && (a.target != target || a.once != once) {
		return mongoerr.New(mongoerr.AlreadyInitialized, "background compaction is already running with another configuration")
	}
	a.on, a.target, a.once = on, target, once
	return nil
}
