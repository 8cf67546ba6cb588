package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// cursorIDs reads the argument with a name, an array of cursor ids. Errors: TypeMismatch (14).
func cursorIDs(c *command.Call, name string, v bson.Value) (ids []int64, err error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
	}
	for it := list.Iter(); it.Next(); {
		id, ok := it.Value.Int64()
		if !ok || it.Value.Type != bson.TypeInt64 {
			return nil, mongoerr.WrongType(c.Field(name+"."+string(it.Name)), it.Value.Type.String(), "long")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// runKillCursors closes the cursors that the command names, and replies with the lists of closed and unknown cursors.
// Manual: reference/command/killCursors.
func runKillCursors(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	var ids []int64
	given := false
	err = c.ReadArgs(arguments.By("cursors", func(v bson.Value) (err error) {
		given = true
		ids, err = cursorIDs(c, "cursors", v)
		return err
	}).WithNull())
	if err != nil {
		return err
	}
	if !given {
		return mongoerr.MissingField(c.Field("cursors"))
	}
	var killed, missing []int64
	for _, id := range ids {
		found, err := c.Server.Cursors.Kill(cursor.ID(id), func(o *cursor.Options) error {
			// Only the database must match, as in MongoDB. An OP_KILL_CURSORS has no database.
			if o.Namespace.DB != ns.DB && c.Msg.Header.OpCode != wire.OpKillCursors {
				return mongoerr.New(mongoerr.CursorNotFound, "cursor %d does not belong to database %s", id, ns.DB)
			}
			return mayKill(c, o)
		})
		if found && err != nil && mongoerr.From(err).Code == mongoerr.Unauthorized {
			return err
		}
		if found && err == nil {
			killed = append(killed, id)
		} else {
			missing = append(missing, id)
		}
	}
	for _, list := range []struct {
		name string
		ids  []int64
	}{{"cursorsKilled", killed}, {"cursorsNotFound", missing}, {"cursorsAlive", nil}, {"cursorsUnknown", nil}} {
		replyIDs(c, list.name, list.ids)
	}
	return nil
}

// replyIDs appends a list of cursor ids to the reply.
func replyIDs(c *command.Call, name string, ids []int64) {
	c.Reply.BeginArray(name)
	for _, id := range ids {
		c.Reply.Int64("", id)
	}
	c.Reply.End()
}

// mayKill refuses to close a cursor of another user, unless the command's user has killAnyCursor on the cluster. The
// action killCursors has no effect, as since MongoDB 4.2: the role read contains it.
// Errors: Unauthorized (13).
func mayKill(c *command.Call, o *cursor.Options) error {
	if !c.Server.RequireAuth || o.User == c.ConnState.User {
		return nil
	}
	if c.ConnState.Login.Grants.MayCluster(auth.KillAnyCursor) {
		return nil
	}
	return c.Unauthorized(c.Body)
}
