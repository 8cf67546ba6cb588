package sessions

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runStartSession makes a session. Unknown arguments are ignored.
// Manual: reference/command/startSession.
func runStartSession(c *command.Call) error {
	id := session.NewID(c.Peer.Owner)
	if err := c.Server.Sessions.Touch(id); err != nil {
		return err
	}
	id.Append(c.Reply, "id")
	c.Reply.Int32("timeoutMinutes", int32(c.Server.Sessions.IdleMax().Minutes()))
	return nil
}

// runRefreshSessions keeps sessions from ending unused.
// Manual: reference/command/refreshSessions.
func runRefreshSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "refreshSessionsFromClient")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Server.Sessions.Touch(id); err != nil {
			return err
		}
	}
	return nil
}

// runEndSessions forgets sessions before their time.
// Manual: reference/command/endSessions.
func runEndSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "endSessionsFromClient")
	if err != nil {
		return err
	}
	c.Server.Sessions.End(ids...)
	return nil
}

// runKillSessions aborts what sessions do now; without any, all of the user's.
// Manual: reference/command/killSessions.
func runKillSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "killSessionsFromClient")
	if err != nil {
		return err
	}
	own := c.Peer.Owner
	killSessions(c, func(id session.ID) bool {
		if len(ids) == 0 {
			return id.Owner == own
		}
		for _, k := range ids {
			if k == id {
				return true
			}
		}
		return false
	})
	return nil
}

// killSessions aborts the transactions, commands and cursors of sessions; the
// command that asks for it goes on.
func killSessions(c *command.Call, match func(session.ID) bool) {
	for _, op := range c.Server.Ops.List() {
		if op.ID != c.Running.ID && !op.Session.IsZero() && match(op.Session) {
			op.Interrupt(session.ErrKilled)
		}
	}
	c.Server.Sessions.Kill(match)
}

// sessionIDs reads the sessions a command is about: the array that is its first
// field. Nulls in it are skipped and other arguments ignored.
// Errors: TypeMismatch (14), IDLFailedToParse (40414), those of session.ParseID.
func sessionIDs(c *command.Call, field string) ([]session.ID, error) {
	field = c.Field(field)
	list, err := sessionList(c, field)
	if err != nil {
		return nil, err
	}
	var ids []session.ID
	for it := list.Iter(); it.Next(); {
		if it.Value.IsNullish() {
			continue
		}
		if it.Value.Type != bson.TypeDocument {
			return nil, mongoerr.WrongType(field+"."+string(it.Name), it.Value.Type.String(), "object")
		}
		id, err := session.ParseID(it.Value, c.Peer.Owner, field)
		if err == nil {
			err = c.MayUse(id)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// sessionList is the array that is the command's first field.
func sessionList(c *command.Call, field string) (bson.Raw, error) {
	if c.Value.IsNullish() {
		return nil, mongoerr.MissingField(field)
	}
	list, ok := c.Value.Array()
	if !ok {
		return nil, mongoerr.WrongType(field, c.Value.Type.String(), "array")
	}
	return list, nil
}
