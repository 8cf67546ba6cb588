package status

import (
	"context"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/kept"
)

// writeBlock refuses what users write while it is on. It outlasts a restart. Safe for
// concurrent use.
type writeBlock struct {
	on atomic.Bool // all that a write looks at otherwise

	kept.Setting
	reason string // why it is on
}

// writeBlockName is the setting that keeps it.
const writeBlockName = "userWriteBlock"

// blockReasons are the reasons there may be; the first is meant where none is given.
var blockReasons = []string{"Unspecified", "ClusterToClusterMigrationInProgress", "DiskUseThresholdExceeded"}

// take makes what was kept what holds.
func (w *writeBlock) take(doc bson.Raw) {
	w.reason, _ = doc.Get("reason").Str()
	w.on.Store(w.reason != "")
}

// set switches the block. Who changes it must know why it is on.
// Errors: IllegalOperation (20) for another reason.
func (w *writeBlock) set(ctx context.Context, s storage.Store, on bool, reason string) error {
	return w.Change(ctx, s, func() (bson.Raw, error) {
		if was := w.reason; was != "" && was != reason {
			verb := "disable"
			if on {
				verb = "enable"
			}
			return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot %s user write blocking for reason %s: writes are blocked for reason %s", verb, reason, was)
		}
		if on == w.on.Load() {
			return nil, nil
		}
		next := reason
		if !on {
			next = ""
		}
		b := bson.NewBuilder(nil)
		b.String("reason", next)
		return b.Doc(), nil
	})
}

// refusal is what a command is told that writes to a database of users; nil while it may, and
// for a user who may always. Where nobody has to log in there is no such user.
// Manual: reference/privilege-actions#bypassWriteBlockingMode.
func (w *writeBlock) refusal(c *command.Call) *mongoerr.Error {
	if !w.on.Load() {
		return nil
	}
	if l := c.Peer.Login; c.Server.RequireAuth && l != nil && l.Grants.MayCluster(auth.BypassWriteBlockingMode) {
		return nil
	}
	return mongoerr.New(mongoerr.UserWritesBlocked, "User writes blocked")
}

// runSetUserWriteBlockMode blocks what users write, or lets it in again.
// Manual: reference/command/setUserWriteBlockMode.
func (s *State) runSetUserWriteBlockMode(c *command.Call) error {
	on, given, reason := false, false, blockReasons[0]
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "global":
			if given = !v.IsNullish(); given {
				on, err = c.StrictBool(name, v)
			}
		case "reason":
			if !v.IsNullish() {
				reason, err = c.EnumArg(name, v, blockReasons...)
			}
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && !given {
		err = mongoerr.MissingField(c.Field("global"))
	}
	if err != nil {
		return err
	}
	if err := s.writeBlock.set(c.Ctx, c.Cluster.Store, on, reason); err != nil || !on {
		return err
	}
	return s.fsyncLock.drain(c.Ctx, 0) // what went in before is over when the client is told
}
