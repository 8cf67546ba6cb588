package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/wire/command"
)

// compactTargetMB is the default of freeSpaceTargetMB.
const compactTargetMB = 20

// runCompact answers compact: it returns when the space has been freed.
// Manual: reference/command/compact.
func (s *State) runCompact(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	work := jobs.Compaction{Namespace: ns, Command: c.Body, MinFree: compactTargetMB << 20}
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "force":
			_, err = c.StrictBool(name, v)
		case "dryRun":
			work.DryRun, err = c.StrictBool(name, v)
		case "freeSpaceTargetMB":
			var n int64
			if n, err = c.LongArg(name, v); err != nil || v.IsMissing() {
				break
			}
			if n < 1 {
				err = mongoerr.OutOfRange(name, n, ">=", 1)
			}
			work.MinFree = min(n, 1<<40) << 20
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
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
