package failpoint

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// failWritePoint is the name of the fail point that makes retryable writes fail before a commit, or lose their
// replies.
// Spec: retryable-writes/tests (onPrimaryTransactionalWrite).
const failWritePoint = "onPrimaryTransactionalWrite"

// parseWrite reads the data of onPrimaryTransactionalWrite: closeConnection (default true) and
// failBeforeCommitExceptionCode.
// Errors: TypeMismatch (14), BadValue (2).
func (p *failCommand) parseWrite(data bson.Raw) error {
	p.close = true
	for it := data.Iter(); it.Next(); {
		ok := true
		switch string(it.Name) {
		case "closeConnection":
			p.close, ok = it.Value.Boolean()
		case "failBeforeCommitExceptionCode":
			var n int64
			n, ok = it.Value.TruncInt64()
			p.code, p.hasCode = mongoerr.Code(n), true
		default:
			return mongoerr.New(mongoerr.BadValue, "unknown data of %s: %s", failWritePoint, it.Name)
		}
		if !ok {
			return mongoerr.WrongType(failWritePoint+"."+string(it.Name), it.Value.Type.String(), "another type")
		}
	}
	return nil
}

// failWrite is called inside the store transaction of a statement, before its commit. If the fail point
// onPrimaryTransactionalWrite has an error code, it returns that error, which prevents the commit. Unless
// closeConnection is false, it also closes the connection, so that the client gets no reply.
// Errors: the error of the fail point.
func (s *State) failWrite(c *command.Call) error {
	p, yes := s.failPoints.enter(failPlace{failWritePoint, c.Conn.Local().String()}, c)
	if !yes {
		return nil
	}
	c.Injected.HangUp = c.Injected.HangUp || p.close
	if p.hasCode {
		return mongoerr.New(p.code, "Failing write for '%s' failpoint before its commit", failWritePoint)
	}
	return nil
}
