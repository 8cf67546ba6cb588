package status

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// wireVersionMin is the oldest version of MongoDB's wire protocol that the server supports. Manual:
// reference/command/hello.
const wireVersionMin = 0

// helloArgs holds the arguments of hello.
type helloArgs struct {
	helloOK     bool
	balanced    bool
	client      bson.Value
	compression bson.Value
	mechs       auth.Name
	speculative bson.Value
	process     [12]byte
	counter     int64
	hasTopology bool
	await       time.Duration
	hasAwait    bool
}

// runHello replies to hello, and to isMaster with the old spelling of one field. Clients send it to open a connection
// (metadata, compression) and to monitor a server: with topologyVersion and maxAwaitTimeMS, hello waits for a change
// of the topology. The changes that can occur are that the server stops, and that another one is promoted in its place.
// Manual: reference/command/hello. Spec: mongodb-handshake, server-discovery-and-monitoring, server-monitoring.
func (s *State) runHello(c *command.Call) error {
	a, err := parseHello(c)
	if err != nil {
		return err
	}
	if !a.client.IsMissing() {
		if err := setClientMetadata(c, a.client); err != nil {
			return err
		}
	}
	c.ConnState.HelloSeen = true
	if a.hasTopology {
		if c.Out.Exhausts() {
			c.Out.More = true
		}
		if c.Msg.Repeat > 0 || a.process == s.processID && a.counter == topologyCounter(c) {
			c.Server.Stats.Awaiting.Add(1)
			err := waitRunning(c, a.await)
			c.Server.Stats.Awaiting.Add(-1)
			if err != nil {
				return err
			}
		}
	}
	if err := s.checkStopping(c); err != nil {
		return err
	}
	return s.replyHello(c, a)
}

// parseHello reads the arguments of hello. It visits them instead of listing rows: hello is the only command of many
// connections, and the frame of rows would double the stack that each of them keeps.
func parseHello(c *command.Call) (a helloArgs, err error) {
	err = c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "helloOk":
			a.helloOK, err = c.BoolArg(name, v)
		case "loadBalanced":
			a.balanced, err = c.BoolArg(name, v)
		case "client":
			a.client = v
		case "compression":
			a.compression = v
		case "saslSupportedMechs":
			a.mechs, err = userName(c, name, v)
		case "speculativeAuthenticate":
			a.speculative = v
		case "topologyVersion":
			a.hasTopology = !v.IsMissing()
			a.process, a.counter, err = topologyVersion(c, v)
		case "maxAwaitTimeMS":
			a.hasAwait = !v.IsMissing()
			var ms int64
			if ms, err = c.IntArg(name, v); err == nil && (ms < 0 || ms > int64(24*time.Hour/time.Millisecond)) {
				err = mongoerr.New(31373, "maxAwaitTimeMS must be a non-negative integer")
			}
			a.await = time.Duration(ms) * time.Millisecond
		} // others are ignored, so that newer clients can send more
		return true, err
	})
	switch {
	case err != nil:
	case a.hasTopology && !a.hasAwait:
		err = mongoerr.New(31368, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'")
	case a.hasAwait && !a.hasTopology:
		err = mongoerr.New(31372, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'")
	case c.Out.Exhausts() && c.Msg.Header.OpCode == wire.OpMsg && !a.hasTopology:
		c.Out.More = false
	}
	return a, err
}

// userName reads "db.user". Errors: TypeMismatch (14), BadValue (2).
func userName(c *command.Call, name string, v bson.Value) (n auth.Name, err error) {
	if _, ok := v.Doc(); ok && v.Type == bson.TypeDocument {
		return n, mongoerr.New(mongoerr.BadValue, "UserName must contain a field named 'user'")
	}
	if v.Type != bson.TypeString {
		got := v.Type.String()
		if v.IsMissing() {
			got = "null"
		}
		return n, mongoerr.WrongType(c.Field(name), got, "string")
	}
	s, _ := v.Str()
	db, user, ok := strings.Cut(s, ".")
	if !ok {
		return n, mongoerr.New(mongoerr.BadValue, "UserName must contain a '.' separated database.user pair")
	}
	return auth.Name{Name: user, DB: db}, nil
}

// topologyVersion reads {processId, counter}. Errors: TypeMismatch (14),
// IDLFailedToParse (40414), 31370.
func topologyVersion(c *command.Call, v bson.Value) (process [12]byte, counter int64, err error) {
	if v.IsMissing() {
		return process, 0, nil
	}
	d, err := c.DocArg("topologyVersion", v)
	if err != nil {
		return process, 0, err
	}
	id, ok := d.Lookup("processId")
	if !ok {
		return process, 0, mongoerr.MissingField("TopologyVersion.processId")
	}
	if process, ok = id.ObjectID(); !ok {
		return process, 0, mongoerr.WrongType("TopologyVersion.processId", id.Type.String(), "objectId")
	}
	n, ok := d.Lookup("counter")
	if !ok {
		return process, 0, mongoerr.MissingField("TopologyVersion.counter")
	}
	if counter, ok = n.Int64(); !ok {
		return process, 0, mongoerr.WrongType("TopologyVersion.counter", n.Type.String(), "long")
	}
	if counter < 0 {
		return process, 0, mongoerr.New(31370, "topologyVersion must have a non-negative counter")
	}
	return process, counter, nil
}

// waitRunning waits for the duration d. It returns early, without an error, if the topology changes.
func waitRunning(c *command.Call, d time.Duration) error {
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	defer context.AfterFunc(c.Conn.Draining(), cancel)()
	if before := c.Server.Deposed(); before.Err() == nil {
		defer context.AfterFunc(before, cancel)()
	}
	err := command.Wait(ctx, d)
	if ctx.Err() != nil && c.Ctx.Err() == nil {
		return nil
	}
	return err
}

// checkStopping returns an error if this server is stopping, so that the client uses another server. The topology
// version in the error is newer than in earlier replies.
// Manual: reference/command/shutdown. Errors: ShutdownInProgress (91).
func (s *State) checkStopping(c *command.Call) error {
	draining := c.Conn.Draining()
	if draining.Err() == nil {
		return nil
	}
	b := bson.NewBuilder(nil)
	s.appendTopologyVersion(c, b)
	var why wire.Stopping
	if errors.As(context.Cause(draining), &why) {
		b.Int64("remainingQuiesceTimeMillis", max(0, time.Until(why.Until).Milliseconds()))
	}
	// The error label is for Go's driver, which passes this error to every operation that waits for a connection to
	// this server. Its change streams resume only if the error has the label.
	return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down; others over the same data take its clients, if there are any").
		With(mongoerr.ResumableChangeStreamError).WithFields(b.Doc().Elements())
}

// replyHello writes the description of the server as the client sees it: a mongos, or the member of a replica set.
func (s *State) replyHello(c *command.Call, a helloArgs) error {
	b := c.Reply
	if a.helloOK {
		b.Bool("helloOk", true)
	}
	if c.Name() == "hello" {
		b.Bool("isWritablePrimary", !isSecondary(c))
	} else {
		b.Bool("ismaster", !isSecondary(c))
	}
	if r, ok := c.ShownSet(); ok {
		appendSet(c, b, r)
	} else {
		b.String("msg", "isdbgrid")
		if a.balanced {
			c.ConnState.Balanced = true
			b.ObjectID("serviceId", s.processID)
		}
	}
	s.appendTopologyVersion(c, b)
	most := c.Limits()
	b.Int32("maxBsonObjectSize", int32(most.DocumentBytes))
	b.Int32("maxMessageSizeBytes", int32(most.MessageBytes))
	b.Int32("maxWriteBatchSize", int32(most.BatchStatements))
	b.DateTime("localTime", c.Start.UnixMilli())
	b.Int32("logicalSessionTimeoutMinutes", int32(c.Server.Sessions.IdleMax()/time.Minute))
	b.Int32("connectionId", int32(c.Conn.ID()))
	b.Int32("minWireVersion", wireVersionMin)
	b.Int32("maxWireVersion", c.ShownVersion().Wire)
	b.Bool("readOnly", c.Server.ReadOnly)
	if a.mechs.Name != "" {
		c.Server.Authenticator.AppendMechanisms(c, a.mechs)
	}
	if err := negotiate(c, a.compression); err != nil || a.speculative.IsMissing() {
		return err
	}
	c.Server.Authenticator.Speculate(c, a.speculative)
	return nil
}

// appendTopologyVersion appends the version of the topology, by which a client recognizes a change. It is constant
// until the server begins to drain, or another one is promoted in its place.
// Spec: server-discovery-and-monitoring (topologyVersion).
func (s *State) appendTopologyVersion(c *command.Call, b *bson.Builder) {
	b.BeginDoc("topologyVersion")
	b.ObjectID("processId", s.processID)
	b.Int64("counter", topologyCounter(c))
	b.End()
}

// topologyCounter returns the number of changes of the topology since the start.
func topologyCounter(c *command.Call) (n int64) {
	for _, event := range [...]context.Context{c.Server.Deposed(), c.Conn.Draining()} {
		if event.Err() != nil {
			n++
		}
	}
	return n
}

// negotiate replies with the names of the compressors that client and server both support, in the client's order.
// Spec: compression/OP_COMPRESSED. Errors: TypeMismatch (14).
func negotiate(c *command.Call, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	list, ok := v.Array()
	if !ok {
		return mongoerr.WrongType(c.Field("compression"), v.Type.String(), "array")
	}
	var offered wire.Compressors
	var order []wire.Compressor
	for v := range list.Values() {
		s, ok := v.Str()
		if !ok {
			return mongoerr.WrongType(c.Field("compression.0"), v.Type.String(), "string")
		}
		if m, ok := wire.CompressorByName(s); ok && !offered.Has(m) {
			offered = offered.With(m)
			order = append(order, m)
		}
	}
	agreed := c.Conn.NegotiateCompressors(offered)
	if agreed == 0 {
		return nil
	}
	c.Reply.BeginArray("compression")
	for _, m := range order {
		if agreed.Has(m) {
			c.Reply.String("", m.String())
		}
	}
	c.Reply.End()
	return nil
}
