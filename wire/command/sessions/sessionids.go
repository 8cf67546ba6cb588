package sessions

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// sessionIDs reads the sessions in the first field of a command, an array. Nulls in it are skipped and other
// arguments ignored.
// Errors: those of sessionList, TypeMismatch (14), IDLFailedToParse (40414), those of session.ParseID.
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

// listedMax is the maximum number of sessions, users or patterns in a command. Drivers end this many sessions
// at a time. Spec: driver-sessions (endSessions).
const listedMax = 10_000

// sessionList returns the array in the command's first field.
// Errors: BadValue (2) if it is too long.
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
