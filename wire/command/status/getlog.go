package status

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// lineBytesMax is the maximum number of bytes of a log line in the reply of getLog. Manual: reference/command/getLog.
const lineBytesMax = 1024

// runGetLog returns the last lines of the log "global", none of the log "startupWarnings", and the names of both for
// "*". Manual: reference/command/getLog.
func (s *State) runGetLog(c *command.Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField(c.Field(c.Name()))
	}
	if c.Value.Type != bson.TypeString {
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string")
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	name, _ := c.Value.Str()
	b := c.Reply
	var lines []string
	total := 0
	switch name {
	case "*":
		b.BeginArray("names")
		b.String("", "global")
		b.String("", "startupWarnings")
		b.End()
		return nil
	case "global":
		if s.Recent != nil {
			lines, total = s.Recent()
		}
	case "startupWarnings":
	default:
		return mongoerr.New(mongoerr.OperationFailed, "No log named '%s'", name)
	}
	b.Int("totalLinesWritten", int64(total))
	b.BeginArray("log")
	for _, l := range lines {
		l = strings.ToValidUTF8(l, "\uFFFD")
		if len(l) > lineBytesMax {
			l = strings.ToValidUTF8(l[:lineBytesMax], "")
		}
		b.String("", l)
	}
	b.End()
	return nil
}
