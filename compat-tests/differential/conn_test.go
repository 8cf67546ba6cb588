package differential

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// conn is a connection to a server.
type conn struct {
	*harness.Conn
	commands int
}

// dial opens one.
func dial(addr string) (*conn, error) {
	c, err := harness.DialAddr(addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

var sessions atomic.Uint32

// newSession is the id of a session that nobody has.
func (c *conn) newSession() bson.Binary {
	id := make([]byte, 16)
	binary.BigEndian.PutUint32(id[12:], sessions.Add(1))
	id[6], id[8] = 0x40, 0x80
	return bson.Binary{Subtype: 4, Data: id}
}

// reply sends a command.
func (c *conn) reply(db string, command any) (bson.Raw, error) {
	raw, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	c.commands++
	return c.Command(db, raw)
}

// failed is the error of a reply, or its first write error; 0 is none.
func failed(reply bson.Raw) (code int32, message string) {
	where := reply
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok == 1 {
		first, err := reply.LookupErr("writeErrors", "0")
		if err != nil {
			return 0, ""
		}
		where, _ = first.DocumentOK()
	}
	n, _ := where.Lookup("code").AsInt64OK()
	message, _ = where.Lookup("errmsg").StringValueOK()
	if n == 0 {
		n = -1
	}
	return int32(n), message
}

// run sends a command that does not answer with rows. Errors: of the connection.
func (c *conn) run(db string, command any) (answer, error) {
	reply, err := c.reply(db, command)
	if err != nil {
		return answer{}, err
	}
	code, message := failed(reply)
	return answer{rows: []bson.Raw{reply}, code: code, message: message}, nil
}

// must sends a command that cannot fail.
func (c *conn) must(db string, command bson.D) (bson.Raw, error) {
	a, err := c.run(db, command)
	if err == nil && a.code != 0 {
		err = fmt.Errorf("%.500s: error %d: %s", js(command), a.code, a.message)
	}
	if err != nil {
		return nil, err
	}
	return a.rows[0], nil
}
