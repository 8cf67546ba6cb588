package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// currentOpArgs holds the arguments that select the operations in the list of currentOp. Servers send them to peers.
type currentOpArgs struct {
	Idle     bool // also connections without a command
	Cursors  bool // also idle cursors
	Sessions bool // also transactions without a running command
	Truncate bool // truncate long commands
	NoJobs   bool
	Own      bool // only operations of User
	// User is the key of the calling user. It is a name and not an ID, because the account of the Cosmos listener has
	// a different ID at each server.
	User string
}

// userNames returns the name of a user as a list with one element; nil for the zero User.
func userNames(u collection.User) []auth.Name {
	if u.IsZero() {
		return nil
	}
	return []auth.Name{{Name: u.Name, DB: u.DB}}
}

// currentOpRequest is a currentOp with parsed arguments.
type currentOpRequest struct {
	state  *State
	args   currentOpArgs
	filter bson.Raw
}

// parseCurrentOp reads the arguments of currentOp. Those fields of the command that are no arguments form a filter on
// the listed operations. $truncateOps has no effect: commands are always truncated.
func (s *State) parseCurrentOp(c *command.Call) (command.Request, error) {
	a := currentOpArgs{Sessions: true, Truncate: true, User: c.ConnState.User.Key()}
	filter := bson.NewBuilder(nil)
	it := c.Body.Iter()
	it.Next()
	for it.Next() {
		switch name := string(it.Name); name {
		case "$all":
			a.Idle = it.Value.Truthy()
		case "$ownOps":
			a.Own = it.Value.Truthy()
		case "$truncateOps":
		default:
			if !arguments.Generic(name) {
				filter.Value(name, it.Value)
			}
		}
	}
	return &currentOpRequest{s, a, filter.Doc()}, nil
}

// Needs notes the privilege of currentOp to see operations of other users; every user may see its own operations.
func (r *currentOpRequest) Needs(q *command.PrivilegeCheck) {
	if !r.args.Own {
		q.NeedOnCluster(auth.Inprog)
	}
}

// Run replies with the operations of all servers over the store that match the filter, and with the state of fsync's
// lock.
// Manual: reference/command/currentOp.
func (r *currentOpRequest) Run(c *command.Call) error {
	s := r.state
	docs, err := match.Keep(c.Env(), s.allServers(c.Ctx, r.args), r.filter)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("inprog")
	for _, d := range docs {
		b.Value("", d.Value())
		if err := c.CheckReplySize(); err != nil {
			return err
		}
	}
	b.End()
	if s.fsyncLock.count() > 0 {
		b.Bool("fsyncLock", true)
		b.String("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock")
	}
	return nil
}

// currentOps returns documents for the running commands of this server and, if the arguments select them, for
// background jobs, idle connections, cursors and transactions; with Own only for running commands of the user.
func (s *State) currentOps(a currentOpArgs) []bson.Raw {
	now := s.Cluster.Now()
	var docs []bson.Raw
	busy := map[int64]bool{}
	for _, op := range s.Ops.List() {
		busy[op.Conn.ID()] = true
		if a.Own && op.User.Key() != a.User {
			continue
		}
		if body := op.Command(); body != nil {
			docs = append(docs, s.describeOp(op, body, now, a))
		}
	}
	if a.Own {
		return docs
	}
	if !a.NoJobs {
		docs = append(docs, s.jobOps(now)...)
	}
	if a.Idle {
		var idle []*command.Connection
		s.EachConn(func(c *command.Connection) bool {
			if !busy[c.Conn.ID()] {
				idle = append(idle, c)
			}
			return true
		})
		slices.SortFunc(idle, func(a, b *command.Connection) int { return cmp.Compare(a.Conn.ID(), b.Conn.ID()) })
		for _, c := range idle {
			b := bson.NewBuilder(nil)
			s.appendConnection(b, c.Conn, c.State.Client.Load())
			b.Bool("active", false)
			b.String("currentOpTime", isoTime(now))
			auth.AppendNames(b, "effectiveUsers", "user", userNames(c.State.LastUser()))
			docs = append(docs, b.Doc())
		}
	}
	if a.Sessions {
		docs = append(docs, s.idleTxns(now)...)
	}
	if a.Cursors {
		list := s.Cursors.List()
		slices.SortFunc(list, func(a, b cursor.Info) int { return a.Opened.Compare(b.Opened) })
		for _, i := range list {
			if i.Pinned {
				continue // listed with the getMore that uses it
			}
			b := bson.NewBuilder(nil)
			b.String("type", "idleCursor")
			b.String("host", s.Address())
			b.String("ns", i.Options.Namespace.String())
			if !i.Options.Session.IsZero() {
				i.Options.Session.Append(b, "lsid")
			}
			appendCursor(b, i, 0)
			docs = append(docs, b.Doc())
		}
	}
	return docs
}

// idleTxns describes the transactions without a running command.
func (s *State) idleTxns(now time.Time) []bson.Raw {
	busy := map[session.ID]bool{}
	for _, op := range s.Ops.List() {
		busy[op.Session] = true
	}
	list := s.Sessions.Transactions()
	slices.SortFunc(list, func(a, b session.Txn) int { return a.Since.Compare(b.Since) })
	var docs []bson.Raw
	for _, t := range list {
		if busy[t.ID] {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("type", "idleSession")
		b.String("host", s.Address())
		b.String("desc", "inactive transaction")
		b.Bool("active", false)
		b.BeginDoc("lsid")
		b.Binary("id", 4, t.ID.UUID[:])
		b.Binary("uid", 0, t.ID.Owner[:])
		b.End()
		b.BeginDoc("transaction")
		b.BeginDoc("parameters")
		b.Int64("txnNumber", t.Number)
		b.Bool("autocommit", false)
		b.End()
		b.String("startWallClockTime", isoTime(t.Since))
		b.Int64("timeOpenMicros", now.Sub(t.Since).Microseconds())
		b.End()
		docs = append(docs, b.Doc())
	}
	return docs
}

// appendConnection appends the fields about the client.
func (s *State) appendConnection(b *bson.Builder, conn wire.Conn, client *operations.Client) {
	b.String("type", "op")
	b.String("host", s.Address())
	b.String("desc", connName(conn.ID()))
	b.Int64("connectionId", conn.ID())
	b.String("client", conn.Remote().String())
	if client != nil {
		if client.AppName != "" {
			b.String("appName", client.AppName)
		}
		b.Raw("clientMetadata", client.Doc)
	}
}

// describeOp describes a running command.
func (s *State) describeOp(op *operations.Operation, body bson.Raw, now time.Time, a currentOpArgs) bson.Raw {
	b, kind := bson.NewBuilder(nil), s.Lookup(op.Name).Op
	s.appendConnection(b, op.Conn, op.Client)
	b.Bool("active", true)
	b.String("currentOpTime", isoTime(now))
	auth.AppendNames(b, "effectiveUsers", "user", userNames(op.User))
	b.Bool("isFromUserConnection", true)
	b.Bool("threaded", true)
	b.Int32("opid", int32(op.ID))
	if !op.Session.IsZero() {
		b.BeginDoc("lsid")
		b.Binary("id", 4, op.Session.UUID[:])
		b.Binary("uid", 0, op.Session.Owner[:])
		b.End()
	}
	micros := max(now.Sub(op.Start).Microseconds(), 1)
	b.Int64("secs_running", micros/1e6)
	b.Int64("microsecs_running", micros)
	b.String("op", kind.String())
	ns := op.NS.DB + "." + op.NS.Coll
	if op.NS.Coll == "" {
		ns = op.NS.DB + ".$cmd"
	}
	b.String("ns", ns)
	b.Bool("redacted", false)
	appendCommand(b, body, a.Truncate)
	if kind == command.OpGetMore {
		first, _ := body.First()
		if id, ok := first.Value.Int64(); ok {
			if i, ok := s.Cursors.Find(cursor.ID(id)); ok {
				appendCursor(b, i, op.ID)
			}
		}
	}
	appendPlan(b, op)
	b.Int32("numYields", 0)
	s.appendLocks(b, op, now)
	return b.Doc()
}

// appendPlan appends to an operation of currentOp the plan of a running read, and the memory that its blocking
// operators hold, in bytes.
// Manual: reference/command/currentOp#currentOp.planSummary.
func appendPlan(b *bson.Builder, op *operations.Operation) {
	p := op.Progress()
	if sol := p.Plan.Load(); sol != nil {
		text, _ := plan.SummaryOf(sol.Shards)
		b.String("planSummary", text)
	}
	if m := p.Memory.Load(); m != nil {
		appendMemory(b, m)
	}
}

// appendCommand appends a command to an operation of currentOp. With truncate, a command of more than CommandBytesMax
// bytes is shown as truncated text.
// Manual: reference/operator/aggregation/currentOp (truncateOps).
func appendCommand(b *bson.Builder, body bson.Raw, truncate bool) {
	if !truncate || len(body) <= command.CommandBytesMax {
		b.Raw("command", body)
		return
	}
	head := bson.NewBuilder(nil)
	for it := body.Iter(); it.Next(); {
		if len(it.Value.Data) < 64 {
			head.ValueBytes(it.Name, it.Value)
		}
	}
	text := head.Doc().String()
	b.BeginDoc("command")
	b.String("$truncated", text[:min(len(text), command.CommandBytesMax)])
	if comment, ok := body.Lookup("comment"); ok {
		b.Value("comment", comment)
	}
	b.End()
}

// jobOps describes the background jobs.
func (s *State) jobOps(now time.Time) []bson.Raw {
	if s.Jobs == nil {
		return nil
	}
	var docs []bson.Raw
	for _, r := range s.Jobs.InProgress() {
		b := bson.NewBuilder(nil)
		b.String("type", "op")
		b.String("host", cmp.Or(r.Server, s.Address()))
		b.String("desc", r.Kind)
		b.Bool("active", true)
		b.String("currentOpTime", isoTime(now))
		b.Int32("opid", -int32(r.ID)) // not a command: killOp does not end it
		micros := max(now.Sub(r.Started).Microseconds(), 1)
		b.Int64("secs_running", micros/1e6)
		b.Int64("microsecs_running", micros)
		b.String("op", "command")
		b.String("ns", r.Namespace.String())
		if r.Command != nil {
			appendCommand(b, r.Command, true)
		}
		b.String("msg", r.Kind)
		b.BeginDoc("progress")
		b.Int64("done", r.Done)
		b.Int64("total", r.Total)
		b.End()
		b.Int64("percent", r.Percent())
		if r.Phase != "" {
			b.String("coordinatorState", r.Phase)
			b.Int64("approxDocumentsToCopy", r.Total)
			b.Int64("documentsCopied", r.Done)
			b.Int64("oplogEntriesApplied", r.Applied)
			b.Int64("totalOperationTimeElapsedSecs", micros/1e6)
			b.Int64("remainingOperationTimeEstimatedSecs", int64(r.Left/time.Second))
		}
		b.Int64("secondsLeft", int64(r.Left/time.Second))
		b.Int32("numYields", 0)
		appendNoLocks(b)
		docs = append(docs, b.Doc())
	}
	return docs
}

// appendCursor appends the state of an open cursor to the list of currentOp; user is the number of the operation that
// uses the cursor, 0 for none.
// Manual: reference/operator/aggregation/currentOp (cursor).
func appendCursor(b *bson.Builder, i cursor.Info, user int64) {
	b.BeginDoc("cursor")
	b.Int64("cursorId", int64(i.ID))
	b.DateTime("createdDate", i.Opened.UnixMilli())
	b.DateTime("lastAccessDate", i.Used.UnixMilli())
	b.Int64("nDocsReturned", i.Returned)
	b.Int64("nBatchesReturned", i.Batches)
	b.Bool("noCursorTimeout", i.Options.NoTimeout)
	b.Bool("tailable", i.Options.Tailable)
	b.Bool("awaitData", i.Options.AwaitData)
	if i.Options.Command != nil {
		b.Raw("originatingCommand", i.Options.Command)
	}
	if user != 0 {
		b.Int64("operationUsingCursorId", user)
	}
	b.End()
}
