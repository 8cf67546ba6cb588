package status

import (
	"net"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runDropConnections only checks its arguments: it would close connections to other servers, but there are none.
// Manual: reference/command/dropConnections.
func runDropConnections(c *command.Call) error {
	return c.ReadArgs(arguments.By("hostAndPort", func(v bson.Value) error {
		name := c.Field("hostAndPort")
		list, ok := v.Array()
		if !ok {
			return mongoerr.WrongType(name, v.Type.String(), "array")
		}
		for it := list.Iter(); it.Next(); {
			if it.Value.IsNullish() {
				continue
			}
			if it.Value.Type != bson.TypeString {
				return mongoerr.WrongType(name+"."+string(it.Name), it.Value.Type.String(), "string")
			}
			s, _ := it.Value.Str()
			if err := checkHostAndPort(s); err != nil {
				return err
			}
		}
		return nil
	}).Required())
}

// checkHostAndPort refuses an argument of dropConnections that is not of the form "host" or "host:port".
// Errors: FailedToParse (9).
func checkHostAndPort(s string) error {
	if s != "" && !strings.Contains(s, ":") {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	if err != nil || host == "" || perr != nil || n < 1 || n > 65535 {
		return mongoerr.New(mongoerr.FailedToParse, "Bad HostAndPort: '%s'", s)
	}
	return nil
}
