package status

import (
	"context"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// writeBlock refuses writes of users while setUserWriteBlockMode has switched it on. It is stored, so it survives a
// restart. It is safe for concurrent use.
type writeBlock struct {
	on atomic.Bool // the only field that a write reads while the block is off

	savedsettings.Setting
	reason string // the reason given when the block was switched on; "" while it is off
}

// writeBlockName is the name of the stored setting.
const writeBlockName = "userWriteBlock"

// blockReasons are the allowed reasons; the first is the default.
var blockReasons = []string{"Unspecified", "ClusterToClusterMigrationInProgress", "DiskUseThresholdExceeded"}

// apply applies the stored setting.
func (w *writeBlock) apply(doc bson.Raw) {
	w.reason, _ = doc.Get("reason").Str()
	w.on.Store(w.reason != "")
}

// set switches the block of users' writes on or off. While it is on, a request must give the same reason with which
// it was switched on.
// Errors: IllegalOperation (20) for another reason.
func (w *writeBlock) set(ctx context.Context, on bool, reason string) error {
	return w.Change(ctx, func() (bson.Raw, error) {
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

// refusal returns the error that the command's writes to databases of users get while the block is on; nil if it is
// off, and for users with the privilege to bypass it. Without access control no user has that privilege. Manual:
// reference/privilege-actions#bypassWriteBlockingMode.
func (w *writeBlock) refusal(c *command.Call) *mongoerr.Error {
	if !w.on.Load() {
		return nil
	}
	if l := c.ConnState.Login; c.Server.RequireAuth && l != nil && l.Grants.MayCluster(auth.BypassWriteBlockingMode) {
		return nil
	}
	return mongoerr.New(mongoerr.UserWritesBlocked, "User writes blocked")
}

// runSetUserWriteBlockMode blocks writes of users, or admits them again.
// Manual: reference/command/setUserWriteBlockMode.
func (s *State) runSetUserWriteBlockMode(c *command.Call) error {
	on, reason := false, blockReasons[0]
	err := c.ReadArgs(
		arguments.StrictBool("global", &on).Required(),
		arguments.Enum("reason", &reason, blockReasons...),
	)
	if err != nil {
		return err
	}
	if err := s.writeBlock.set(c.Ctx, on, reason); err != nil || !on {
		return err
	}
	return s.fsyncLock.drain(c.Ctx, 0) // earlier writes have ended when the client gets the reply
}
