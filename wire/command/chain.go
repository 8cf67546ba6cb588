package command

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/session"
)

// Connect sees a new connection.
func (s *Server) Connect(c wire.Conn) error {
	s.seenAt.CompareAndSwap(nil, c.Local().String())
	p := &peer{cosmos: c.Tag() == TagCosmos, owner: session.OwnerOf(""), uuid: session.NewID(session.Owner{}).UUID}
	c.SetState(p)
	c.SetStranger(s.RequireAuth)
	s.conns.Store(c.ID(), &connection{c, p})
	s.ops.open(c.ID(), &p.slot)
	return nil
}

// Disconnect sees the end of a connection. Cursors stay: they end by their own
// timeout, or when their session ends; except the one whose batches were sent
// without being asked for, since its client does not know how far it came.
func (s *Server) Disconnect(c wire.Conn) {
	if p, ok := c.State().(*peer); ok && p.streamed != 0 {
		s.Cursors.Kill(p.streamed, func(*cursor.Options) error { return nil })
	}
	s.ops.close(c.ID())
	s.conns.Delete(c.ID())
}

// Handle runs one command and writes its reply.
func (s *Server) Handle(ctx context.Context, conn wire.Conn, m *wire.Message, out *wire.Reply) error {
	p := conn.State().(*peer)
	c := p.spare
	if p.spare = nil; c == nil {
		c = &Call{memory: mql.NewMemory(mql.StageBytesMax)}
	}
	*c = Call{Server: s, Ctx: ctx, Conn: conn, Peer: p, Msg: m, Body: m.Body, Out: out, Reply: out.Body(), Start: s.Cluster.Now(), memory: c.memory}
	c.bodyAt = c.Reply.Len()
	s.stats.requests.Add(1)
	s.stats.bytesIn.Add(int64(m.Header.Length))
	err := s.run(c)
	if c.hangUp || errors.Is(err, wire.ErrHangUp) {
		return wire.ErrHangUp
	}
	if err != nil {
		out.Restart()
		c.Reply = out.Body()
		s.fail(c, err)
	}
	s.finish(c, err)
	s.profile(c, err)
	s.stats.bytesOut.Add(int64(c.Reply.Len()))
	if !c.retained {
		c.memory.Release()
		p.spare = c
	} else { // a cursor must not hold on to what the connection has
		c.Conn, c.Msg, c.Out, c.Reply, c.Peer = nil, nil, nil, nil, nil
	}
	return nil
}

// run finds the command and takes it through the chain.
func (s *Server) run(c *Call) error {
	first, ok := c.Body.First()
	if !ok {
		return mongoerr.New(mongoerr.CommandNotFound, "no such command: ''")
	}
	name := intern(first.Name)
	if c.Msg.Header.OpCode == wire.OpQuery && (name == "query" || name == "$query") {
		if d, ok := first.Value.Doc(); ok { // {$query: {hello: 1}} of old clients
			c.Body = d
			if first, ok = d.First(); !ok {
				return mongoerr.New(mongoerr.CommandNotFound, "no such command: ''")
			}
			name = string(first.Name)
		}
	}
	c.Value = first.Value
	c.Def = s.lookup(name)
	if c.Def == nil {
		s.stats.unknown.Add(1)
		return mongoerr.NoCommand(name)
	}
	c.DB, c.writes = c.Msg.Database(), c.Def.writes(c.Body)
	if c.Msg.Header.OpCode == wire.OpMsg {
		if err := checkDB(c.Body); err != nil {
			return err
		}
	}
	c.Time = s.Cluster.Store.Latest()
	if err := s.generic(c); err != nil {
		return err
	}
	if c.Args.InTxn && !c.Def.Facts.has(InTxn) {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run '%s' in a multi-document transaction.", c.Name())
	}
	if c.Def.Facts.has(AdminOnly) && c.DB != "admin" && c.Msg.Header.OpCode == wire.OpMsg {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", c.Name())
	}
	if c.Op.Env == nil {
		c.environment()
	}
	s.ops.enter(c)
	defer s.ops.leave(c)
	defer c.Op.Env.Pause()
	if d, limited, err := c.timeLimit(); err != nil {
		return err
	} else if limited {
		if err := s.failTimeLimit(c); err != nil {
			return err
		}
		limit, stop := context.WithTimeoutCause(c.Ctx, d, cluster.ErrTimeLimit)
		defer stop()
		c.Ctx = limit
	}
	c.Op.Env.SetContext(c.Ctx)
	if err := c.authorize(); err != nil {
		return err
	}
	if err := s.failPoint(c); err != nil {
		return err
	}
	if c.Msg.Header.Length >= wire.LargeBytes {
		if err := c.turn.Long(&c.env); err != nil {
			return err
		}
	}
	if c.writes {
		if err := s.fsyncLock.enter(c.Ctx); err != nil {
			return err
		}
		defer s.fsyncLock.leave()
	}
	if err := s.enterSession(c); err != nil {
		return err
	}
	s.traceProfiled(c)
	through := false
	defer func() {
		if !through { // it panicked
			s.dropSession(c)
		}
	}()
	err := c.payMetadata()
	if err == nil {
		err = c.fixReadTime()
	}
	if err == nil {
		err = c.Def.Run(c)
		if herr := s.Cluster.Harden(&c.Op); err == nil {
			err = herr
		}
	}
	if err == nil {
		err = c.confirmRead()
	}
	err = s.leaveSession(c, err)
	through = true
	return err
}

// checkDB looks at $db. Errors: InvalidNamespace (73), 40571.
func checkDB(body bson.Raw) error {
	v, ok := body.Lookup("$db")
	if !ok {
		return mongoerr.New(40571, "OP_MSG requests require a $db argument")
	}
	db, ok := v.Str()
	if !ok || v.Type != bson.TypeString {
		return mongoerr.WrongType("$db", v.Type.String(), "string")
	}
	return checkDatabaseName(db)
}

// environment makes the language environment of the command.
func (c *Call) environment() {
	env := &c.env
	c.memory.Reset(c.Server.memory.bytes(), c.WorkMemory)
	env.Reset(c.Ctx, &c.vars, c.memory)
	env.NowMillis = c.Start.UnixMilli()
	env.ClusterTime = uint64(c.Time)
	env.DB = c.DB
	env.JavaScript = c.JavaScript
	env.Strict = c.Peer.cosmos
	c.turn.Begin(c.Processor)
	env.Turn = &c.turn
	env.Memory.Spill = true
	env.Memory.SpillDir = c.Cluster.ScratchDir
	c.Op.Env = env
	c.Op.AppName, c.Op.User = c.Peer.appName, c.Peer.user
	c.Op.Strong = c.strongReads()
	c.Op.Unmetered = c.unmetered.Load()
	c.Op.Durability = c.WriteConcern.durability(c.Server.Durability)
}

// generic reads the arguments that every command takes.
func (s *Server) generic(c *Call) (err error) {
	c.Args.TxnNumber = -1
	hasSession := false
	for it := c.Body.Iter(); it.Next(); {
		switch string(it.Name) {
		case "lsid", "txnNumber", "autocommit", "startTransaction", "stmtId", "stmtIds":
			hasSession = true
		case "writeConcern":
			if c.WriteConcern, err = parseWriteConcern(it.Value); err != nil {
				return err
			}
		case "readConcern":
			level, after, at, err := parseReadConcern(it.Value)
			if err != nil {
				return err
			}
			if c.Def.Op != OpGetMore { // which leaves it alone: drivers repeat that of the session
				c.ReadConcern, c.Op.At = level, at
			}
			if at > c.Time {
				return aheadOf("atClusterTime", at, c.Time)
			} else if after > c.Time {
				return aheadOf("afterClusterTime", after, c.Time)
			}
		case "$clusterTime":
			if err := c.checkClusterTime(it.Value); err != nil {
				return err
			}
		case "$readPreference":
			if err := checkReadPreference(it.Value); err != nil {
				return err
			}
		case "comment":
			c.Comment = it.Value
			c.Op.Class = classOf(it.Value)
		}
	}
	if hasSession {
		if c.Args, err = session.ParseArgs(c.Body, c.Name(), c.Peer.owner); err != nil {
			return err
		}
	}
	if s.RequireAuth && c.Peer.login == nil {
		c.Args = session.Args{TxnNumber: -1} // who nobody knows has no sessions, and makes none
	}
	if err := c.checkAPI(); err != nil {
		return err
	}
	if err := c.checkConcerns(); err != nil {
		return err
	}
	s.rwDefaults.fill(c)
	return nil
}

// timeLimit reads maxTimeMS.
// Manual: reference/operator/meta/maxTimeMS. Errors: BadValue (2),
// FailedToParse (9), TypeMismatch (14).
func (c *Call) timeLimit() (time.Duration, bool, error) {
	v, ok := c.Body.Lookup("maxTimeMS")
	if !ok || v.IsNullish() {
		if c.Peer.cosmos {
			return cosmosTimeLimit, true, nil
		}
		if ms := c.clusterSettings.readMillis.Load(); ms > 0 && c.Def.Facts.has(Limited) && !c.writes {
			return time.Duration(ms) * time.Millisecond, true, nil
		}
		return 0, false, nil
	}
	if !v.IsNumber() {
		return 0, false, mongoerr.WrongType(c.field("maxTimeMS"), v.Type.String(), "long", "int", "decimal", "double")
	}
	n, ok := v.AsInt64()
	if !ok {
		return 0, false, mongoerr.New(mongoerr.FailedToParse, "maxTimeMS has non-integral value")
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, false, mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range [0, 2147483647]", n)
	}
	if n == 0 || c.Def.Op == OpGetMore { // a getMore's maxTimeMS is how long it may wait
		return 0, false, nil
	}
	return time.Duration(n) * time.Millisecond, true, nil
}

// cosmosTimeLimit is the longest an operation may take on the Cosmos listener.
// Source: Azure Cosmos DB for MongoDB, concepts-limits.
const cosmosTimeLimit = 60 * time.Second

// fail writes an error reply.
func (s *Server) fail(c *Call, err error) {
	e := s.clientError(c, err)
	if c.hasLabels {
		e = e.With(c.labels)
		e.Labels = c.labels
	} else if l := c.labelsOf(e); l != 0 {
		e = e.With(l)
	}
	if c.Def != nil {
		c.Def.counter.failed.Add(1)
	}
	c.Out.Fail()
	// The error is appended as elements: ok, errmsg, code, codeName, labels.
	c.Reply.Splice(e.AppendTo(nil))
}

// shutDown is the error of a command that the end of the server interrupts.
func shutDown() *mongoerr.Error {
	return mongoerr.New(mongoerr.InterruptedAtShutdown, "The server is shutting down")
}

// clientError turns any error into one for the client, and logs the unexpected.
func (s *Server) clientError(c *Call, err error) *mongoerr.Error {
	if cause := context.Cause(c.Ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		switch {
		case errors.Is(cause, wire.ErrShutdown):
			return shutDown()
		case errors.Is(cause, wire.ErrClientGone):
			return mongoerr.New(mongoerr.ClientDisconnect, "operation was interrupted because the client disconnected")
		case errors.Is(cause, cursor.ErrKilled):
			return mongoerr.New(mongoerr.CursorKilled, "operation was interrupted because its cursor was killed")
		case errors.Is(cause, session.ErrExpired):
			return mongoerr.New(mongoerr.TransactionExceededLifetimeLimitSeconds, "operation was interrupted because the transaction exceeded the configured 'transactionLifetimeLimitSeconds'").
				With(mongoerr.TransientTransactionError)
		case errors.Is(cause, session.ErrKilled):
			return mongoerr.New(mongoerr.Interrupted, "operation was interrupted because its session was killed")
		}
		err = cause
	}
	e := mongoerr.From(cluster.Translate(err))
	if c.Peer.cosmos && e.Code == ratelimit.CodeThrottled {
		return mongoerr.New(e.Code, "%s", e.Msg) // the service has no labels: its text alone says when to come again
	}
	if e.Code == mongoerr.InternalError {
		s.Log.Error().Err(err).Str("command", c.nameOr()).Int64("conn", c.Conn.ID()).Msg("command failed unexpectedly")
	}
	return e
}

func (c *Call) nameOr() string {
	if c.Def == nil {
		return "?"
	}
	return c.Name()
}

// finish ends the reply with what every reply has.
func (s *Server) finish(c *Call, err error) {
	b := c.Reply
	if err == nil {
		if c.WriteConcern.unacknowledged() && c.Def.Statements != "" {
			c.Out.Restart() // nobody asked what became of it
		}
		if c.concernError != nil {
			b.Value("writeConcernError", c.concernError.Value())
			c.appendLabels(c.concernLabels(c.concernError))
		} else if c.writes {
			if e := c.WriteConcern.failure(); e != nil {
				b.BeginDoc("writeConcernError")
				b.Splice(e.AppendWriteConcernError(nil))
				b.End()
			}
		}
		if !c.hasOK {
			b.Double("ok", 1)
		}
		if c.Op.Txn != nil && !isMember(c) {
			appendRecoveryToken(b)
		}
	}
	if c.Def == nil {
		return
	}
	c.Def.counter.total.Add(1)
	took := s.Cluster.Now().Sub(c.Start)
	s.timed(c.Name(), took)
	s.latencies.add(c.Def.Kind, took)
	if c.op.NS.Coll != "" {
		s.usage.add(c.op.NS, c.Def.Op, took)
	}
	s.price(c, err, took)
	if c.Msg.Header.OpCode != wire.OpMsg {
		return
	}
	c.appendTimes()
}

// price notes what the command cost and, where asked for, puts it into the
// reply.
func (s *Server) price(c *Call, err error, took time.Duration) {
	if c.Def.Facts.has(Silent) || c.Op.Unmetered {
		return
	}
	s.stats.loaded.Add(c.Op.Receipt.Sum(ratelimit.DocLoaded) + c.Op.Receipt.Sum(ratelimit.PointRead))
	total := c.Op.Receipt.Total() + ratelimit.MicroRU(c.pageCharge)
	st := statement{command: c.Name(), charge: int64(total), took: took}
	s.noteShape(c, err, total, st.took)
	if c.Args.ID.IsZero() {
		c.Peer.last = st
	} else {
		s.charges.put(c.Args.ID, st)
	}
	if c.Peer.cosmos || s.replyCharge.Load() || wantsCharge(c.Comment) {
		c.Reply.Double("requestCharge", total.Float())
	}
}
