package sessions

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// sessionIDs reads the array of sessions in the first field of a command. It skips nulls, and refuses sessions that
// the user may not use. Other arguments are ignored.
// Errors: errors of sessionList, TypeMismatch (14), IDLFailedToParse (40414), Unauthorized (13), errors of
// session.ParseID.
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
		id, err := session.ParseID(it.Value, c.ConnState.Owner, field)
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

// listedMax is the maximum number of sessions, users or patterns in one command. It is the number of sessions that
// drivers end at a time. Spec: driver-sessions (endSessions).
const listedMax = 10_000

// sessionList returns the array in the first field of a command on sessions.
// Errors: IDLFailedToParse (40414), TypeMismatch (14), BadValue (2) for more than listedMax elements.
func sessionList(c *command.Call, field string) (bson.Raw, error) {
	if c.Value.IsNullish() {
		return nil, mongoerr.MissingField(field)
	}
	list, ok := c.Value.Array()
	if !ok {
		return nil, mongoerr.WrongType(field, c.Value.Type.String(), "array")
	}
	if n := list.Len(); n > listedMax {
		return nil, mongoerr.New(mongoerr.BadValue, "%s has %d elements, more than the %d that one command may have; use several", field, n, listedMax)
	}
	return list, nil
}
