package differential

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// conn is a connection to a server by the wire protocol. Several commands may be sent on it before the first reply
// is read.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
	id  int32
	due []awaited // in order
}

// dial opens a connection and sends a first command at once: a server closes a connection on which nothing is sent
// for a minute, and with several servers it may take longer until this one is used.
func dial(addr string) (*conn, error) {
	nc, err := net.DialTimeout("tcp", addr, answerMost)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, in: bufio.NewReaderSize(nc, 64<<10)}
	if _, err := c.must("admin", bson.D{{Key: "ping", Value: 1}}); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// answerMost is the longest time to wait for a reply: a join over a collection whose partitions move, at several
// servers, takes more than a minute on a busy machine.
const answerMost = 4 * time.Minute

// frameHead is the number of bytes of an OP_MSG before the document of the command: header, flags and the kind of
// the section. Spec: message/OP_MSG
const (
	opMsg     = 2013
	frameHead = 16 + 4 + 1
)

var sessions atomic.Uint32

// newSession returns a new session id.
func (c *conn) newSession() bson.Binary {
	id := make([]byte, 16)
	binary.BigEndian.PutUint32(id[12:], sessions.Add(1))
	id[6], id[8] = 0x40, 0x80
	return bson.Binary{Subtype: 4, Data: id}
}

// queue adds a command to the queue.
func (c *conn) queue(db string, command bson.D) error {
	raw, err := bson.Marshal(append(command[:len(command):len(command)], bson.E{Key: "$db", Value: db}))
	if err != nil {
		return err
	}
	c.id++
	at := len(c.out)
	c.out = append(c.out, make([]byte, frameHead)...)
	c.out = append(c.out, raw...)
	harness.PutHeader(c.out[at:], c.id, 0, opMsg)
	c.due = append(c.due, awaited{db, command})
	return nil
}

// awaited is a command whose answer has not come yet.
type awaited struct {
	db      string
	command bson.D
}

// awayMost is the longest time for which a command is sent again and again while the simulated cluster gets no
// processor time.
const awayMost = time.Minute

// repeatable reports whether a command can be sent again because its reply has the error NetworkTimeout (89), after
// which nothing was done. It must not be a getMore or have a txnNumber, and no other reply may be expected.
func (c *conn) repeatable(s awaited, reply bson.Raw) bool {
	code, _ := failed(reply)
	return code == 89 && len(c.due) == 0 && len(s.command) > 0 && s.command[0].Key != "getMore" &&
		!slices.ContainsFunc(s.command, func(e bson.E) bool { return e.Key == "txnNumber" })
}

// flush sends the queued commands.
func (c *conn) flush() error {
	_ = c.SetDeadline(time.Now().Add(answerMost))
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// receive takes the next answer.
func (c *conn) receive() (bson.Raw, error) {
	command := c.due[0]
	c.due = c.due[1:]
	reply, err := c.next()
	for until := time.Now().Add(awayMost); err == nil && c.repeatable(command, reply) && time.Now().Before(until); {
		time.Sleep(time.Second)
		if err = c.queue(command.db, command.command); err == nil {
			err = c.flush()
		}
		c.due = nil
		if err == nil {
			reply, err = c.next()
		}
	}
	return reply, err
}

// next reads a message.
func (c *conn) next() (bson.Raw, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < frameHead+5 || size > 64<<20 || binary.LittleEndian.Uint32(head[12:]) != opMsg {
		return nil, fmt.Errorf("a reply of %d bytes with op code %d", size, binary.LittleEndian.Uint32(head[12:]))
	}
	doc := make(bson.Raw, size-frameHead)
	_, err := io.ReadFull(c.in, doc)
	return doc, err
}

// reply sends a command and takes its answer.
func (c *conn) reply(db string, command bson.D) (bson.Raw, error) {
	if err := c.queue(db, command); err != nil {
		return nil, err
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.receive()
}

// failed returns the code and the text of the error in a reply, or of its first write error; the code is 0 if there
// is none.
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

// run sends a command whose reply has no rows, and returns the reply as an answer. Errors: errors of the connection.
func (c *conn) run(db string, command bson.D) (answer, error) {
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
