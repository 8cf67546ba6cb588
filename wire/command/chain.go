package command

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/concern"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// Connect sets up the state of a new connection.
func (s *Server) Connect(c wire.Conn) error {
	s.firstAddress.CompareAndSwap(nil, c.Local().String())
	p := &ConnState{Owner: session.OwnerOf("", ""), UUID: session.NewID(session.Owner{}).UUID}
	if c.Tag() == TagCosmos {
		p.Cosmos = s.Account.Client()
	}
	c.SetState(p)
	c.SetUnauthenticated(s.RequireAuth)
	p.account.refresh(s, c, p)
	s.conns.Store(c.ID(), &Connection{c, p})
	s.Ops.Open(c.ID(), &p.slot)
	return nil
}

// Disconnect releases the state of a closed connection. Cursors opened on it stay open, with two exceptions: an
// exhaust cursor, because its client cannot determine how many batches arrived, and the cursors of a balanced
// connection.
func (s *Server) Disconnect(c wire.Conn) {
	p, ok := c.State().(*ConnState)
	if ok && p.Streamed != 0 {
		s.Cursors.Kill(p.Streamed, func(*cursor.Options) error { return nil })
	}
	if ok {
		s.endPinned(c.ID(), p)
		p.account.leave()
	}
	s.Ops.Close(c.ID())
	s.conns.Delete(c.ID())
}

// replyBytesMax is the maximum bytes of a reply before finish appends the last fields. It exceeds the size of a
// document, because explain prints a request several times. listBytesMax is the maximum bytes of a reply that lists
// things. Manual: reference/limits#bson-documents.
const (
	replyBytesMax = wire.MessageSizeMax - 64<<10
	listBytesMax  = 16<<20 + 16<<10
)

// CheckReplySize refuses a reply that has grown longer than listBytesMax. Commands with long lists call it after
// each element, so that they do not build more than can be sent. Errors: BSONObjectTooLarge (10334).
func (c *Call) CheckReplySize() error { return c.checkReplyBytes(listBytesMax) }

func (c *Call) checkReplyBytes(most int) error {
	if n := c.Reply.Len(); n > most {
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "The reply to %s has %d bytes, or more, and one may have %d: ask for less at a time", c.Name(), n, most)
	}
	return nil
}

// Handle runs one command and writes its reply.
func (s *Server) Handle(ctx context.Context, conn wire.Conn, m *wire.Message, out *wire.Reply) error {
	p := conn.State().(*ConnState)
	c, _ := s.calls.Get().(*Call)
	if c == nil {
		c = &Call{memory: mql.NewMemory(mql.StageBytesMax), scripts: &storedScripts{}}
	}
	c.Server, c.Cluster, c.Ctx, c.Conn, c.ConnState, c.Start = s, s.Cluster, ctx, conn, p, s.Cluster.Now()
	c.Reader = arguments.Reader{Body: m.Body, Msg: m}
	c.Out, c.Reply = out, out.Body()
	c.BodyAt = c.Reply.Len()
	s.Stats.Requests.Add(1)
	s.Stats.BytesIn.Add(int64(m.Header.Length))
	through := false
	defer func() {
		if !through {
			s.panicked(c)
		}
	}()
	err := s.run(c)
	through = true
	if c.Injected.HangUp || errors.Is(err, wire.ErrHangUp) {
		return wire.ErrHangUp
	}
	if err == nil {
		err = c.checkReplyBytes(replyBytesMax)
	}
	if err != nil {
		out.Restart()
		c.Reply = out.Body()
		s.fail(c, err)
	}
	s.finish(c, err)
	p.account.refresh(s, conn, p) // a login or a first hello may have changed the account that the next message counts for
	s.Stats.BytesOut.Add(int64(c.Reply.Len()))
	p.slot.Reset()
	if !c.retained {
		c.memory.Release()
		kept, scripts, row := c.memory, c.scripts, c.row
		*c = Call{} // without fields: one made of c's own would take its size, 4 KB, of every connection's stack
		c.memory, c.scripts, c.row = kept, scripts, row
		s.calls.Put(c)
	} else { // a cursor must not keep references to objects of the connection
		c.Conn, c.Msg, c.Out, c.Reply, c.ConnState = nil, nil, nil, nil, nil
	}
	return nil
}

// panicked cleans up after a command that panicked: it counts the command as failed, if the command exists, releases
// its memory unless a cursor uses that memory, and resets the slot of its connection.
func (s *Server) panicked(c *Call) {
	if c.Def != nil {
		c.Def.Counter.Total.Add(1)
		c.Def.Counter.Failed.Add(1)
	}
	if !c.retained {
		c.memory.Release()
	}
	c.ConnState.slot.Reset()
}

// run takes a command through the chain.
func (s *Server) run(c *Call) error {
	if err := s.find(c); err != nil {
		return err
	}
	c.Time = s.Cluster.Latest()
	if err := s.readGeneric(c); err != nil {
		return err
	}
	if err := c.checkTxnAndDB(); err != nil {
		return err
	}
	if c.Op.Env == nil {
		c.prepareEnv()
	}
	c.enter()
	defer c.ConnState.slot.Leave()
	defer c.Op.Env.ReleaseSlot()
	if c.Def.Facts.Has(InterruptOnDrain) {
		op := c.Running
		defer context.AfterFunc(c.Conn.Draining(), func() { op.Interrupt(ShutDown()) })()
	}
	stop, err := s.limitTime(c)
	if err != nil {
		return err
	}
	defer stop()
	c.Op.Env.SetContext(c.Ctx)
	if err := c.authorize(); err != nil {
		return err
	}
	if err := s.FailPoints.Fail(c, FailCommand); err != nil {
		return err
	}
	if c.Msg.Header.Length >= wire.LargeBytes {
		if err := c.lane.Long(&c.env); err != nil {
			return err
		}
	}
	if err := c.read(); err != nil {
		return err
	}
	c.CapRequestUnits(c.Running.NS)
	if err = c.enterGates(); c.inWrite {
		defer c.LeaveWrite()
	}
	if err != nil {
		return err
	}
	if err := s.enterSession(c); err != nil {
		return err
	}
	s.Profiler.Begin(c)
	if c.sampled() {
		c.Run = s.Planner.Sample(c)
	}
	c.began = true
	through := false
	defer func() {
		if !through { // it panicked
			s.dropSession(c)
		}
	}()
	c.Injected.trigger()
	err = c.enterBudgets()
	if err == nil {
		err = c.fixReadTime()
	}
	if err == nil && c.Def.Facts.Has(Counts) {
		err = c.Cluster.Recounted(c.Ctx)
	}
	if err == nil {
		err = s.waitDurable(c, c.perform())
	}
	if err == nil {
		err = c.confirmRead()
	}
	err = s.leaveSession(c, err)
	through = true
	return err
}

// perform runs the command. If a read without a cursor has passed its cap between two checks, it fails as well.
func (c *Call) perform() error {
	err := c.Def.perform(c, c.request, c.unread)
	if err == nil && !c.writes && !c.retained {
		err = c.Op.Cap.Check()
	}
	if err != nil {
		if reached := (*ratelimit.CapReached)(nil); errors.As(err, &reached) {
			c.Server.Planner.NoteRunaway(c, reached)
		}
	}
	return err
}

// waitDurable waits until the writes of the command are on disk, as far as its write concern requires, and returns err,
// the error of the command, if there is one. If the time limit of the command ends during this wait, the writes have
// been committed, but the disk has not confirmed them: the command succeeds with a writeConcernError.
func (s *Server) waitDurable(c *Call, err error) error {
	herr := s.Cluster.WaitDurable(c.Ctx, &c.Op)
	if herr == nil || err != nil {
		return err
	}
	if c.writes && errors.Is(context.Cause(c.Ctx), cluster.ErrTimeLimit) {
		e := mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit: its writes are made, and the disk has not confirmed them yet")
		b := bson.NewBuilder(nil)
		b.Splice(e.AppendWriteConcernError(nil))
		c.ConcernError = b.Doc()
		return nil
	}
	return herr
}

// find sets the row of the command by the name in the first field of the request, and then the database of the
// command. Errors: errors of unknown and readDB.
func (s *Server) find(c *Call) error {
	if account := c.ConnState.Cosmos; account != nil {
		account.Begin(c.Start.UnixMilli(), c.ConnState.AppName)
	}
	first, ok := c.Body.First()
	if !ok {
		return mongoerr.New(mongoerr.CommandNotFound, "no such command: ''")
	}
	name := arguments.Name(first.Name)
	if c.Msg.Header.OpCode == wire.OpQuery && (name == "query" || name == "$query") {
		if d, ok := first.Value.Doc(); ok { // {$query: {hello: 1}} of old clients
			c.Body = d
			if first, ok = d.First(); !ok {
				return mongoerr.New(mongoerr.CommandNotFound, "no such command: ''")
			}
			name = string(first.Name)
		}
	}
	def := s.Lookup(name)
	if def == nil || !c.Offers(def) {
		s.Stats.Unknown.Add(1)
		return c.unknown(name)
	}
	c.Become(def, c.Body)
	c.writes = c.Def.writes(c.Body)
	if c.Msg.Header.OpCode == wire.OpMsg {
		return c.readDB()
	}
	c.DB = c.Msg.Database()
	return nil
}

// checkTxnAndDB refuses a command that is not allowed in its transaction or, in an OP_MSG, on its database.
// Errors: OperationNotSupportedInTransaction (263), Unauthorized (13).
func (c *Call) checkTxnAndDB() error {
	if c.Args.InTxn && !c.Def.Facts.Has(InTxn) {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run '%s' in a multi-document transaction.", c.Name())
	}
	if c.Def.Facts.Has(AdminOnly) && c.DB != "admin" && c.Msg.Header.OpCode == wire.OpMsg {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", c.Name())
	}
	return nil
}

// readDB reads $db. Errors: InvalidNamespace (73), TypeMismatch (14), 40571.
func (c *Call) readDB() error {
	v, ok := c.Body.Lookup("$db")
	if !ok {
		return mongoerr.New(40571, "OP_MSG requests require a $db argument")
	}
	if c.DB, ok = v.Str(); !ok || v.Type != bson.TypeString {
		return mongoerr.WrongType("$db", v.Type.String(), "string")
	}
	return collection.CheckDatabaseName(c.DB)
}

// enter adds the command to the list of running operations, which currentOp shows, and makes the command's context
// one that killOp can cancel.
func (c *Call) enter() {
	c.Running = operations.Operation{Name: c.Name(), NS: collection.Namespace{DB: c.DB}, Session: c.Args.ID, Conn: c.Conn,
		Client: c.ConnState.Client.Load(), InTxn: c.Args.InTxn, Start: c.Start, User: c.ConnState.User, Secrets: c.Server}
	switch c.Def.Namespace {
	case FirstField:
		c.Running.NS.Coll, _ = c.Value.Str()
	case CollectionField:
		c.Running.NS.Coll, _ = c.Body.Get("collection").Str()
	}
	if c.Def.Facts.Has(SurvivesDisconnect) {
		c.Conn.SurviveDisconnect()
	}
	c.Running.Writes = c.writes
	c.Ctx = c.Server.Ops.Enter(c.Ctx, &c.ConnState.slot, &c.Running, c.Body)
	p := c.Progress()
	if c.Op.Env != nil && p.Memory.Load() != c.Op.Env.Memory {
		p.Memory.Store(c.Op.Env.Memory)
	}
	c.Op.Planned = &p.Plan
}

// Progress returns the state that the running command publishes to currentOp.
func (c *Call) Progress() *operations.Progress { return &c.ConnState.slot.Progress }

// prepareEnv prepares the language environment of the command.
func (c *Call) prepareEnv() {
	env := &c.env
	who := c.ConnState.account.refresh(c.Server, c.Conn, c.ConnState)
	c.memory.Reset(c.Server.Memory.Bytes(), who.memory)
	c.memory.AllSpills = &c.Server.Spills
	env.Reset(c.Ctx, &c.vars, c.memory)
	env.NowMillis, env.Clock = c.Start.UnixMilli(), c.Cluster.Now
	env.ClusterTime = uint64(c.Time)
	env.DB = c.DB
	env.JavaScript = c.Server.JavaScript
	c.scripts.reset(c)
	env.Stored = c.scripts
	env.Cosmos = c.ConnState.Cosmos
	env.StableOnly = c.StableOnly()
	env.Release, env.ServerRelease = c.Release(), c.Server.Release
	c.lane.Begin(c.Server.Processor, who.name)
	env.Slot = &c.lane
	env.Memory.Spill = true
	env.Memory.SpillDir = c.Cluster.ScratchDir
	c.Op.Env = env
	c.Op.Receipt.SetPrices(c.Cluster.Budgets.Prices)
	if who.writes != nil {
		c.Op.Writes = who.writes
	}
	c.Op.AppName, c.Op.User, c.Op.Caller = c.ConnState.AppName, c.ConnState.User, c.Server.callerOf(c.ConnState)
	c.Op.Viewer = c
	c.Op.LockWait = &c.Progress().Locked
	c.Op.Strong = c.strongReads()
	c.Op.Unmetered = c.Server.Unmetered.Load()
	c.Op.Durability = c.WriteConcern.Durability(c.Server.Durability)
}

// readGeneric reads the arguments of every command, such as lsid. It refuses a repeated field name: otherwise code
// that reads the first such field and code that reads the last would use different values.
func (s *Server) readGeneric(c *Call) (err error) {
	c.Args.TxnNumber = -1
	hasSession, hasAPI := false, false
	var kinds uint64 // of the names so far
	checked := false
	for it := c.Body.Iter(); it.Next(); {
		kind := bson.NameKind(it.Name)
		if kinds&kind != 0 && !checked {
			if checked, err = true, c.CheckOnce(); err != nil {
				return err
			}
		}
		kinds |= kind
		switch string(it.Name) {
		case "lsid", "txnNumber", "autocommit", "startTransaction", "stmtId", "stmtIds":
			hasSession = true
		case "apiVersion", "apiStrict", "apiDeprecationErrors":
			hasAPI = true
		case "writeConcern":
			if c.WriteConcern, err = concern.ParseWrite(it.Value); err != nil {
				return err
			}
			if c.Strict() { // Source: Azure Cosmos DB for MongoDB, "feature-support-70", Write concerns
				c.WriteConcern = c.WriteConcern.Uncounted()
			}
		case "readConcern":
			if err := c.takeReadConcern(it.Value); err != nil {
				return err
			}
		case "$clusterTime":
			if err := concern.CheckClusterTime(it.Value, c.Cluster.Now()); err != nil {
				return err
			}
		case "$readPreference":
			if c.secondaryOK, err = concern.ParseReadPreference(it.Value); err != nil {
				return err
			}
		case "maxRequestUnits", "rawData":
			if err := c.readOption(string(it.Name), it.Value); err != nil {
				return err
			}
		case "comment":
			c.Comment = it.Value
			c.Op.Class = arguments.ClassOf(it.Value)
		}
	}
	c.checkOperator()
	if hasSession {
		if c.Args, err = session.ParseArgs(c.Body, c.Name(), c.ConnState.Owner); err != nil {
			return err
		}
	}
	if s.RequireAuth && c.ConnState.Login == nil {
		c.Args = session.Args{TxnNumber: -1} // a client without a login can neither use nor start sessions
	}
	if hasAPI {
		if err := c.checkAPI(); err != nil {
			return err
		}
	}
	if err := c.checkConcerns(); err != nil {
		return err
	}
	s.Settings.FillConcerns(c)
	return nil
}

// fail writes an error reply.
func (s *Server) fail(c *Call, err error) {
	e := s.reportClientError(c, err)
	if c.Injected.HasLabels {
		e = e.With(c.Injected.Labels)
		e.Labels = c.Injected.Labels
	} else if l := c.labelsOf(e); l != 0 {
		e = e.With(l)
	}
	if c.Def != nil {
		c.Def.Counter.Failed.Add(1)
	}
	c.Out.Fail()
	// The error is appended as elements: ok, errmsg, code, codeName, labels.
	c.Reply.Splice(e.AppendTo(nil))
	if c.began && c.writes && c.ConnState.Cosmos == nil {
		c.appendConcernFailure()
	}
}

// appendConcernFailure appends a writeConcernError if the write concern of the command cannot be satisfied.
func (c *Call) appendConcernFailure() {
	if e := c.WriteConcern.Failure(); e != nil {
		c.Reply.BeginDoc("writeConcernError")
		c.Reply.Splice(e.AppendWriteConcernError(nil))
		c.Reply.End()
	}
}

// ShutDown returns the error of a command that the shutdown of the server interrupts.
func ShutDown() *mongoerr.Error {
	return mongoerr.New(mongoerr.InterruptedAtShutdown, "The server is shutting down")
}

// AsClientError converts any error into an error for the client.
func (c *Call) AsClientError(err error) *mongoerr.Error {
	if cause := context.Cause(c.Ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		switch {
		case errors.Is(cause, wire.ErrShutdown):
			return ShutDown()
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
	return mongoerr.From(cluster.Translate(err))
}

// reportClientError converts an error for the client, counts timeouts, and reports internal errors as defects.
func (s *Server) reportClientError(c *Call, err error) *mongoerr.Error {
	e := c.stoppedAtCap(c.throttled(c.AsClientError(err)))
	if e.Code == mongoerr.MaxTimeMSExpired {
		s.Stats.TimedOut.Add(1)
	}
	c.reportUnforeseen(e, err)
	if errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrUndetermined) {
		s.unavailableLog.Warn().Err(err).Str("command", c.nameOr()).Int64("conn", c.Conn.ID()).Msg("storage unavailable")
	}
	return e
}

// reportUnforeseen writes an InternalError to the journal of defects, unless a fail point injected the error.
func (c *Call) reportUnforeseen(e *mongoerr.Error, err error) {
	if e.Code != mongoerr.InternalError || c.Injected.Failed {
		return
	}
	if cause := e.Cause(); cause != nil {
		err = cause
	}
	c.Server.Defects.Error("command "+c.nameOr(), err)
}

func (c *Call) nameOr() string {
	if c.Def == nil {
		return "?"
	}
	return c.Name()
}

// finish appends the last fields of a reply; if the command has a row, finish counts the command and calls the
// observers of OnEnd.
func (s *Server) finish(c *Call, err error) {
	b := c.Reply
	if err == nil {
		if c.WriteConcern.Unacknowledged() && c.Def.Statements != "" && !c.Def.Facts.Has(FullReply) {
			c.Out.Restart() // the client requested no acknowledgment
		}
		if c.ConcernError != nil {
			b.Value("writeConcernError", c.ConcernError.Value())
			c.appendLabels(c.concernLabels(c.ConcernError))
		} else if c.writes {
			c.appendConcernFailure()
		}
		if !c.hasOK {
			b.Double("ok", 1)
		}
		if c.Op.Txn != nil && !IsMember(c) {
			appendRecoveryToken(b)
		}
	}
	// An account of Azure Cosmos DB answers commands by OP_QUERY without times, MongoDB the hello and logins with them.
	timed := c.Msg.Header.OpCode == wire.OpMsg || c.ConnState.Cosmos == nil
	if c.Def == nil {
		if timed {
			c.appendTimes()
		}
		return
	}
	c.Def.Counter.Total.Add(1)
	took := s.Cluster.Now().Sub(c.Start)
	charge := s.recordCharge(c, took)
	if timed {
		c.appendTimes()
	}
	e := Outcome{Err: err, Took: took, Charge: charge, RefusedBy: c.results.refused}
	if e.Refused() && e.RefusedBy.Sum() == 0 {
		e.RefusedBy.Count(limitOf(err))
	}
	s.Stats.Refused.Add(&e.RefusedBy)
	for _, fn := range s.onEnd {
		fn(c, e)
	}
}

// recordCharge stores the charge of the command for getLastRequestStatistics and returns it. If showsCharge is true,
// it also appends the field requestCharge. For Silent commands, and with noMeteringPoint, it only returns 0.
func (s *Server) recordCharge(c *Call, took time.Duration) ratelimit.MicroRU {
	if c.Def.Facts.Has(Silent) || c.Op.Unmetered {
		return 0
	}
	c.scripts.charged(&c.Op.Receipt)
	s.Stats.Loaded.Add(c.Op.Receipt.Sum(ratelimit.DocLoaded) + c.Op.Receipt.Sum(ratelimit.PointRead))
	total := c.Op.Receipt.Total() + ratelimit.MicroRU(c.Page.Charge)
	st := statement{Command: c.Name(), Charge: int64(total), Took: took, Waited: c.Op.Waited, Activity: NewActivity()}
	if c.Args.ID.IsZero() {
		c.ConnState.Last = st
	} else {
		s.Charges.put(c.Args.ID, st)
	}
	if c.showsCharge() {
		c.Reply.Double("requestCharge", total.Float())
	}
	return total
}
