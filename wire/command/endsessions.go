package command

import (
	"github.com/cantledb/cantle/wire/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// runEndSessions forgets sessions before their time.
// Manual: reference/command/endSessions.
func runEndSessions(c *Call) error {
	ids, err := c.sessionIDs(false)
	if err != nil {
		return err
	}
	c.Sessions.End(ids...)
	return nil
}

// sessionIDs reads the sessions a command is about: the array that is its first
// field. A command that needs one refuses an empty list.
// Errors: TypeMismatch (14), those of session.ParseID, BadValue (2).
func (c *Call) sessionIDs(needed bool) ([]session.ID, error) {
	if err := c.noArguments(); err != nil {
		return nil, err
	}
	list, ok := c.Value.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.field(c.Name()), c.Value.Type.String(), "array")
	}
	var ids []session.ID
	for it := list.Iter(); it.Next(); {
		id, err := session.ParseID(it.Value, session.OwnerOf(c.Peer.user), c.field(c.Name())+"."+string(it.Name))
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if needed && len(ids) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "%s requires at least one session", c.Name())
	}
	return ids, nil
}
