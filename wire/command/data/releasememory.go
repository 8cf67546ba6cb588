package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// runReleaseMemory releases the memory of idle cursors, which stay open, and replies with the lists of released,
// unknown and used ones. The user needs releaseMemoryAnyCursor on the cluster or on the namespace of each cursor, also
// for cursors of its own.
// Source: SERVER-87132; the command has no page in the manual.
func runReleaseMemory(c *command.Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField(c.Field("releaseMemory"))
	}
	ids, err := cursorIDs(c, "releaseMemory", c.Value)
	if err != nil {
		return err
	}
	if err := c.ReadArgs(); err != nil {
		return err
	}
	for _, id := range ids {
		if err := mayRelease(c, cursor.ID(id)); err != nil {
			return err
		}
	}
	var released, missing, used []int64
	for _, id := range ids {
		if err := c.Env().Interrupted(); err != nil {
			return err
		}
		switch c.Server.Cursors.Release(cursor.ID(id)) {
		case cursor.ReleasedMemory:
			released = append(released, id)
		case cursor.NoSuchCursor:
			missing = append(missing, id)
		case cursor.InUse:
			used = append(used, id)
		}
	}
	replyIDs(c, "cursorsReleased", released)
	replyIDs(c, "cursorsNotFound", missing)
	replyIDs(c, "cursorsCurrentlyPinned", used)
	replyIDs(c, "cursorsWithErrors", nil)
	return nil
}

// mayRelease refuses to release the memory of a cursor without releaseMemoryAnyCursor on its namespace or the cluster.
// Errors: Unauthorized (13).
func mayRelease(c *command.Call, id cursor.ID) error {
	if !c.Server.RequireAuth {
		return nil
	}
	info, ok := c.Server.Cursors.Find(id)
	grants := c.ConnState.Login.Grants
	if !ok || grants.MayCluster(auth.ReleaseMemoryAnyCursor) || grants.May(auth.ReleaseMemoryAnyCursor, info.Options.Namespace) {
		return nil
	}
	return c.Unauthorized(c.Body)
}
