package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/session"
)

// runStartSession makes a session. Unknown arguments are ignored.
// Manual: reference/command/startSession.
func runStartSession(c *Call) error {
	id := session.NewID(c.Peer.owner)
	if err := c.Sessions.Touch(id); err != nil {
		return err
	}
	id.Append(c.Reply, "id")
	c.Reply.Int32("timeoutMinutes", int32(c.Sessions.IdleMax().Minutes()))
	return nil
}

// runRefreshSessions keeps sessions from ending unused.
// Manual: reference/command/refreshSessions.
func runRefreshSessions(c *Call) error {
	ids, err := c.sessionIDs("refreshSessionsFromClient")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Sessions.Touch(id); err != nil {
			return err
		}
	}
	return nil
}

// runEndSessions forgets sessions before their time.
// Manual: reference/command/endSessions.
func runEndSessions(c *Call) error {
	ids, err := c.sessionIDs("endSessionsFromClient")
	if err != nil {
		return err
	}
	c.Sessions.End(ids...)
	return nil
}

// runKillSessions aborts what sessions do now; without any, all of the user's.
// Manual: reference/command/killSessions.
func runKillSessions(c *Call) error {
	ids, err := c.sessionIDs("killSessionsFromClient")
	if err != nil {
		return err
	}
	own := c.Peer.owner
	c.killSessions(func(id session.ID) bool {
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
func (c *Call) killSessions(match func(session.ID) bool) {
	for _, op := range c.ops.list() {
		if op.ID != c.op.ID && !op.Session.IsZero() && match(op.Session) {
			op.interrupt(session.ErrKilled)
		}
	}
	c.Sessions.Kill(match)
}

// sessionIDs reads the sessions a command is about: the array that is its first
// field. Nulls in it are skipped and other arguments ignored.
// Errors: TypeMismatch (14), IDLFailedToParse (40414), those of session.ParseID.
func (c *Call) sessionIDs(field string) ([]session.ID, error) {
	field = c.field(field)
	list, err := c.sessionList(field)
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
		id, err := session.ParseID(it.Value, c.Peer.owner, field)
		if err == nil {
			err = c.mayUse(id)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// mayUse refuses a session that names another user as its own.
// Errors: Unauthorized (13).
func (c *Call) mayUse(id session.ID) error {
	if !c.RequireAuth || id.IsZero() || id.Owner == c.Peer.owner {
		return nil
	}
	if l := c.Peer.login; l != nil && l.grants.MayCluster(auth.Impersonate) {
		return nil
	}
	return c.unauthorized(c.Body)
}

// sessionList is the array that is the command's first field.
func (c *Call) sessionList(field string) (bson.Raw, error) {
	if c.Value.IsNullish() {
		return nil, mongoerr.MissingField(field)
	}
	list, ok := c.Value.Array()
	if !ok {
		return nil, mongoerr.WrongType(field, c.Value.Type.String(), "array")
	}
	return list, nil
}
