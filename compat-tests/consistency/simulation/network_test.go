package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// network holds the connections in memory to one life of a server, from a start to a power cut. It implements
// net.Listener.
type network struct {
	waiting chan net.Conn
	closed  chan struct{}
	dead    atomic.Bool // the power has failed: later messages are lost
}

func newNetwork() *network {
	return &network{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.waiting:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func (n *network) Addr() net.Addr { return address{} }

// address is the address of all connections.
type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "simulation:27017" }

// errLost is the error if the connection broke, or the life of the server ended, before the reply came.
var errLost = errors.New("no answer")

// line is the connection of a client to the server, which is opened again after it was lost.
type line struct {
	net  *network
	rng  *rand.Rand
	conn *harness.Conn
	loss float64 // the probability that a message is lost, with its connection
}

// Sends a command and waits for its reply. Errors: errLost.
func (l *line) call(db string, cmd bson.D) (reply, error) {
	if err := l.dial(); err != nil {
		return reply{}, err
	}
	text, err := bson.Marshal(cmd)
	if err != nil {
		panic(err)
	}
	l.travel()
	lose := l.rng.Float64() < l.loss
	if lose && l.rng.IntN(3) == 0 {
		l.hangUp() // before the command was sent
		return reply{}, errLost
	}
	if err := l.conn.Send(db, text, 0); err != nil {
		l.hangUp()
		return reply{}, errLost
	}
	if lose {
		l.travel()
		l.hangUp() // while the server works, or answers
		return reply{}, errLost
	}
	doc, err := l.conn.Receive()
	if err != nil || l.net.dead.Load() {
		l.hangUp()
		return reply{}, errLost
	}
	l.travel()
	return reply{doc}, nil
}

// dial connects if there is no connection.
func (l *line) dial() error {
	if l.net.dead.Load() {
		return errLost
	}
	if l.conn != nil {
		return nil
	}
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	select {
	case l.net.waiting <- theirs:
	case <-l.net.closed:
		return errLost
	case <-ctx.Done():
		return errLost
	}
	l.conn = &harness.Conn{Conn: ours}
	return nil
}

// travel waits for the latency of a message.
func (l *line) travel() { time.Sleep(time.Duration(l.rng.IntN(400)) * time.Microsecond) }

// hangUp closes the connection.
func (l *line) hangUp() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

// reply is the reply of a server.
type reply struct{ bson.Raw }

// at returns a field, zero if it is missing.
func (r reply) at(path ...string) bson.RawValue {
	v, _ := r.LookupErr(path...)
	return v
}

// code returns the error code of the command or of its first write error, 0 if there is none.
func (r reply) code() int {
	if n, ok := r.at("code").AsInt64OK(); ok {
		return int(n)
	}
	n, _ := r.at("writeErrors", "0", "code").AsInt64OK()
	return int(n)
}

// label reports whether the error has a label.
func (r reply) label(name string) bool {
	list, ok := r.at("errorLabels").ArrayOK()
	if !ok {
		return false
	}
	values, _ := list.Values()
	for _, v := range values {
		if v.StringValue() == name {
			return true
		}
	}
	return false
}

// rows returns the documents of a first or next batch.
func (r reply) rows() (out []bson.Raw) {
	for _, name := range []string{"firstBatch", "nextBatch"} {
		list, ok := r.at("cursor", name).ArrayOK()
		if !ok {
			continue
		}
		values, _ := list.Values()
		for _, v := range values {
			out = append(out, v.Document())
		}
	}
	return out
}
