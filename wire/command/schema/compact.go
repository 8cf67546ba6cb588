package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runCompact answers compact: the engine compacts by itself.
// Manual: reference/command/compact.
func runCompact(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	dry := false
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "force":
			_, err = c.StrictBool(name, v)
		case "dryRun":
			dry, err = c.StrictBool(name, v)
		case "freeSpaceTargetMB":
			var n int64
			if n, err = c.LongArg(name, v); err == nil && !v.IsMissing() && n < 1 {
				err = mongoerr.OutOfRange(name, n, ">=", 1)
			}
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if _, err := c.Collection(ns); err != nil {
		return err
	}
	if dry {
		c.Reply.Int64("estimatedBytesFreed", 0)
	} else {
		c.Reply.Int64("bytesFreed", 0)
	}
	return nil
}
