package schema

import (
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// compactTargetMB is the default of the argument freeSpaceTargetMB, in MiB.
const compactTargetMB = 20

// runCompact frees disk space of a collection, if at least freeSpaceTargetMB can be freed, and replies when that is
// done, with the number of freed bytes. With dryRun it only estimates them. Manual: reference/command/compact.
func (s *State) runCompact(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	work := jobs.Compaction{Namespace: ns, Command: c.Body}
	target := int64(compactTargetMB)
	err = c.ReadArgs(
		arguments.StrictBool("force", nil),
		arguments.StrictBool("dryRun", &work.DryRun),
		arguments.Long("freeSpaceTargetMB", &target).From(1),
	)
	if err != nil {
		return err
	}
	work.MinFree = min(target, 1<<40) << 20
	if work.Collection, err = c.Collection(ns); err != nil {
		return err
	}
	freed, err := s.Jobs.Compact(c.Ctx, &work)
	if err != nil {
		return err
	}
	name := "bytesFreed"
	if work.DryRun {
		name = "estimatedBytesFreed"
	}
	c.Reply.Int64(name, freed)
	return nil
}
