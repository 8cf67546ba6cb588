package settings

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/kept"
)

// unspecified is the reason of a block whose reason nobody gave.
const unspecified = "Unspecified"

// writeBlock keeps users from writing to their databases, for a reason. It outlasts a restart.
// Safe for concurrent use.
type writeBlock struct {
	mu     sync.Mutex
	reason string // reason is "" while nothing is blocked

	refused atomic.Pointer[mongoerr.Error] // refused is what users are told; nil while they may write
}

// writeBlockName is the setting that keeps the reason.
const writeBlockName = "writeBlock"

// load reads what was set before a restart.
func (w *writeBlock) load(ctx context.Context, s storage.Store) error {
	doc, err := kept.Load(ctx, s, writeBlockName)
	if err == nil && doc != nil {
		reason, _ := doc.Get("reason").Str()
		w.hold(reason)
	}
	return err
}

// hold makes a reason take effect; "" lets users write.
func (w *writeBlock) hold(reason string) {
	w.reason = reason
	switch reason {
	case "":
		w.refused.Store(nil)
	case unspecified:
		w.refused.Store(mongoerr.New(mongoerr.UserWritesBlocked, "User writes blocked"))
	default:
		w.refused.Store(mongoerr.New(mongoerr.UserWritesBlocked, "User writes blocked, reason: %s", reason))
	}
}

// set blocks writes for a reason, or lets them in again. Errors: IllegalOperation (20) if they
// are blocked for another reason; those of the store.
func (w *writeBlock) set(ctx context.Context, s storage.Store, on bool, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.reason == "" && !on || w.reason == reason && on:
		return nil
	case w.reason != "" && w.reason != reason:
		return mongoerr.New(mongoerr.IllegalOperation, "User writes are blocked for another reason; current: %s, reason: %s", w.reason, reason)
	case !on:
		reason = ""
	}
	b := bson.NewBuilder(nil)
	b.String("reason", reason)
	if err := kept.Save(ctx, s, writeBlockName, b.Doc()); err != nil {
		return err
	}
	w.hold(reason)
	return nil
}

// runSetUserWriteBlockMode blocks the writes of users, or lets them in again. Writes that run
// already come to their end.
// Manual: reference/command/setUserWriteBlockMode. Errors: those of writeBlock.set.
func (s *State) runSetUserWriteBlockMode(c *command.Call) error {
	on, given, reason := false, false, unspecified
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "global":
			given = !v.IsMissing()
			on, err = c.StrictBool(name, v)
		case "reason":
			if !v.IsMissing() {
				reason, err = c.EnumArg(name, v, unspecified, "ClusterToClusterMigrationInProgress", "DiskUseThresholdExceeded")
			}
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return err
	case !given:
		return mongoerr.MissingField(c.Field("global"))
	}
	return s.writeBlock.set(c.Ctx, c.Cluster.Store, on, reason)
}
