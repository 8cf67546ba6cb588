package console

import (
	"encoding/json"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// operationsReply lists running operations.
type operationsReply struct {
	Operations json.RawMessage `json:"operations"`
	// All reports whether the list includes the operations of other users.
	All bool `json:"all"`
}

// operations returns the running operations, idle cursors and idle sessions, at most 1000, as $currentOp has them: of
// all users if this user may see those, otherwise of this user alone.
func operations(q *query) (any, error) {
	for _, all := range []bool{true, false} {
		reply, err := q.aggregate(collection.Namespace{DB: "admin"}, bson.D{{"$currentOp",
			bson.D{{"allUsers", all}, {"idleConnections", false}, {"idleCursors", true}, {"idleSessions", true}}}})
		var e *mongoerr.Error
		if all && errors.As(err, &e) && e.Code == mongoerr.Unauthorized {
			continue
		}
		if err != nil {
			return nil, err
		}
		return operationsReply{batchOf(reply), all}, nil
	}
	return nil, errNoLogin
}

// killOperation ends a running command.
func killOperation(q *query) (any, error) {
	id := q.body.Get("id")
	if id.IsNullish() {
		return nil, mongoerr.New(mongoerr.BadValue, "id is the opid of an operation")
	}
	reply, err := q.runCommand("admin", bson.D{{"killOp", 1}, {"op", id}})
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}
