package console

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// localConnIDs is added to the numbers of the console's connections, so that they lie far above the numbers of
// clients' network connections.
const localConnIDs = 1 << 40

// localConn is a connection to the server without a network, by which the console sends commands. It implements
// wire.Conn. Not safe for concurrent use, except Close.
type localConn struct {
	server        *command.Server
	id            int64
	remote, local net.Addr
	opened        time.Time
	state         any
	tls           *tls.ConnectionState
	ctx           context.Context
	close         context.CancelCauseFunc
	pool          wire.Pool
	user          *auth.User // as of its login, nil without a login
}

// connIDs numbers connections.
type connIDs struct{ n atomic.Int64 }

// dial opens a connection for a request from remote.
func (n *connIDs) dial(s *command.Server, remote, local net.Addr, state *tls.ConnectionState) (*localConn, error) {
	c := &localConn{server: s, id: localConnIDs + n.n.Add(1), remote: remote, local: local, opened: time.Now(), tls: state}
	c.ctx, c.close = context.WithCancelCause(context.Background())
	if err := s.Connect(c); err != nil {
		return nil, err
	}
	c.state.(*command.ConnState).Operator = true
	return c, nil
}

// hangUp ends the connection.
func (c *localConn) hangUp() {
	c.close(nil)
	c.server.Disconnect(c)
}

func (c *localConn) ID() int64               { return c.id }
func (c *localConn) Tag() string             { return "" }
func (c *localConn) Remote() net.Addr        { return c.remote }
func (c *localConn) Local() net.Addr         { return c.local }
func (c *localConn) Opened() time.Time       { return c.opened }
func (c *localConn) State() any              { return c.state }
func (c *localConn) SetState(v any)          { c.state = v }
func (c *localConn) Close(cause error)       { c.close(cause) }
func (c *localConn) SurviveDisconnect()      {}
func (c *localConn) HangUpAfterReply()       {}
func (c *localConn) SetUnauthenticated(bool) {}
func (c *localConn) ChargeTo(string)         {}

func (c *localConn) Draining() context.Context                                     { return c.ctx }
func (c *localConn) NegotiateCompressors(wire.Compressors) (none wire.Compressors) { return none }
func (c *localConn) TLS() *tls.ConnectionState                                     { return c.tls }

// introduce sends the command hello over the connection with the name of the console, so that currentOp and the log
// show the console as the client.
func (c *localConn) introduce(ctx context.Context) error {
	client := bson.D{{"application", bson.D{{"name", "cantle console"}}}, {"driver", bson.D{{"name", "console"}, {"version", c.server.Version}}},
		{"os", bson.D{{"type", "browser"}}}}
	_, err := c.runCommand(ctx, "admin", bson.D{{"hello", 1}, {"client", client}}.Doc())
	return err
}

// adoptUser logs in this connection as the user of another connection, without a password, if the credential by which
// that user logged in is still valid.
// Errors: Unauthorized (13).
func (c *localConn) adoptUser(other *localConn) error {
	l := other.login()
	if now := c.server.Auth.User(l.Name); now == nil || !now.Same(other.user, l.Mechanism) {
		return errNoLogin
	}
	c.user = other.user
	p, o := c.state.(*command.ConnState), other.state.(*command.ConnState)
	p.Login, p.User, p.Owner = o.Login, o.User, o.Owner
	return nil
}

// login returns the login of the connection, which has the user and the privileges; nil if the connection has not
// logged in.
func (c *localConn) login() *command.Login { return c.state.(*command.ConnState).Login }

// errClosed is the error of a command whose connection was closed while the command ran.
var errClosed = errors.New("the connection was closed")

// runCommand runs a command on a database over this connection, and returns a copy of the reply. While the server
// refuses the command for lack of request units, runCommand waits and tries again, see throttledPatience.
// Errors: *mongoerr.Error if the command fails, as in its reply, or the error of throttled; errClosed.
func (c *localConn) runCommand(ctx context.Context, db string, body bson.Raw) (bson.Raw, error) {
	began := time.Now()
	for tries := 1; ; tries++ {
		reply, err := c.send(ctx, db, body)
		if err != nil || reply.Get("ok").Truthy() {
			return reply, err
		}
		code, _ := reply.Get("code").TruncInt64()
		text, _ := reply.Get("errmsg").Str()
		if code != ratelimit.CodeThrottled {
			return nil, mongoerr.New(mongoerr.Code(code), "%s", text)
		}
		if !pause(ctx, reply, began) {
			return nil, throttled(tries, time.Since(began))
		}
	}
}

// send sends a command once, and returns a copy of the reply, also that of a command that failed. Errors: errClosed.
func (c *localConn) send(ctx context.Context, db string, body bson.Raw) (bson.Raw, error) {
	fields := append(body.D(), bson.E{"$db", db})
	if _, given := body.Lookup("$readPreference"); !given && c.server.Follower != nil {
		fields = append(fields, bson.E{"$readPreference", bson.D{{"mode", "secondaryPreferred"}}})
	}
	doc, err := bson.Parse(fields.Doc(), bson.Limits{Depth: bson.MaxDepth + 1})
	if err != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	m := wire.Message{Header: wire.Header{OpCode: wire.OpMsg, RequestID: 1, Length: int32(len(doc) + wire.HeaderSize + 5)}, Body: doc}
	out := wire.NewReply(&c.pool)
	out.Start(&m)
	defer out.Release()
	if err := c.server.Handle(ctx, c, &m, out); err != nil {
		return nil, errClosed
	}
	msg, err := out.Finish(1, 1)
	if err != nil {
		return nil, err
	}
	reply, err := bson.Parse(msg[wire.HeaderSize+5:], bson.Limits{Depth: bson.MaxDepth + 1})
	if err != nil {
		return nil, err
	}
	return reply.Clone(), nil
}

// authenticate logs a user in by SCRAM.
// Errors: AuthenticationFailed (18).
func (c *localConn) authenticate(ctx context.Context, n auth.Name, password string) error {
	m, err := c.mechanismOf(ctx, n)
	if err != nil {
		return err
	}
	c.user = c.server.Auth.User(n)
	proof, err := auth.NewProof(m, n.Name, password)
	if err != nil {
		return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
	}
	first, err := proof.Step("")
	if err != nil {
		return err
	}
	command := bson.D{{"saslStart", 1}, {"mechanism", string(m)}, {"payload", []byte(first)}, {"options", bson.D{{"skipEmptyExchange", true}}}}
	for {
		reply, err := c.runCommand(ctx, n.DB, command.Doc())
		if err != nil {
			return err
		}
		_, challenge, _ := reply.Get("payload").Binary()
		answer, err := proof.Step(string(challenge))
		if err != nil {
			return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
		}
		if reply.Get("done").Truthy() {
			return nil
		}
		command = bson.D{{"saslContinue", 1}, {"conversationId", reply.Get("conversationId")}, {"payload", []byte(answer)}}
	}
}

// mechanismOf returns the mechanism for a login: SCRAM-SHA-256 if the server offers it for the user, otherwise
// SCRAM-SHA-1.
func (c *localConn) mechanismOf(ctx context.Context, n auth.Name) (auth.Mechanism, error) {
	reply, err := c.runCommand(ctx, "admin", bson.D{{"hello", 1}, {"saslSupportedMechs", n.DB + "." + n.Name}}.Doc())
	if err != nil {
		return "", err
	}
	m := auth.ScramSHA1
	list, _ := reply.Get("saslSupportedMechs").Array()
	for v := range list.Values() {
		if s, _ := v.Str(); s == string(auth.ScramSHA256) {
			m = auth.ScramSHA256
		}
	}
	return m, nil
}
