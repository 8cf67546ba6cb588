package status

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/operations"
)

// Limits of the profiler.
const (
	profileBytes = 1 << 20 // size of a new system.profile
	// profiledCommandMax is the size, in bytes, above which the profiler records only the first field of a command.
	profiledCommandMax = 50 << 10
	// profileTimeMax is the maximum time for storing one entry of the profiler.
	profileTimeMax = 2 * time.Second
)

// Begin is called when a command begins. If its database is profiled or has a filter, it makes the command record its
// operators. It also starts the watch that logs commands while they run for long. For Silent commands it does
// nothing.
func (s *State) Begin(c *command.Call) {
	if c.Def.Facts.Has(command.Silent) {
		return
	}
	s.slowWatch.arm()
	if of := s.profiling(c.DB); c.Op.Trace == nil && (of.level > 0 || of.filter != nil) {
		c.Op.Trace = &cluster.Trace{RealRead: true}
	}
}

// Profiled reports whether the profiling level of a database is above 0.
func (s *State) Profiled(db string) bool { return s.profiling(db).level > 0 }

// profiling returns the profiler's settings for commands on a database; the zero dbProfile if no database is profiled
// or has a filter.
func (s *State) profiling(db string) dbProfile {
	p := &s.profiler
	if !p.on.Load() {
		return dbProfile{}
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.of(db)
}

// profile records a completed command in system.profile of its database, depending on the database's level. Silent
// commands are left out. At level 2 it records all others; at level 1 a sample of the slow commands or, if there is a
// filter, the commands that match it. Such commands are logged at any level, and at level 2 all commands. The entry
// is stored before the client gets the reply. Errors are only logged.
// Manual: tutorial/manage-the-database-profiler, reference/log-messages#logging-slow-operations.
func (s *State) profile(c *command.Call, e command.Outcome) {
	if c.Def.Facts.Has(command.Silent) {
		return
	}
	p := &s.profiler
	e.Took -= c.Progress().Idle.Sum()
	slow := e.Took.Milliseconds() >= p.slow.Load()
	if !slow && !p.on.Load() {
		return
	}
	p.mu.RLock()
	of, rate := p.of(c.DB), p.rate
	p.mu.RUnlock()
	if of.implied && !s.profilable(c.DB) {
		of.level = 0
	}
	slow = slow && (rate >= 1 || rand.Float64() < rate)
	if !slow && of.level < 2 && of.filter == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), profileTimeMax)
	defer stop()
	env := mql.NewEnv(ctx)
	env.NowMillis, env.DB = s.Cluster.Now().UnixMilli(), c.DB
	doc := profileEntry(c, e.Err, e.Took)
	if of.filter != nil {
		yes, err := of.filter.Matches(env, doc, &expr.Scratch{})
		slow = err == nil && yes
	}
	if of.level == 2 || of.level == 1 && slow {
		s.record(env, c.DB, doc)
	}
	if of.level == 2 || slow {
		s.logSlow("Slow query", doc)
	}
}

// profilable reports whether the initial profiling level applies to a database. It does not apply to a database that
// does not exist, which a read must not create by its entry, nor to local and config.
func (s *State) profilable(db string) bool {
	return db != "local" && db != "config" && s.Cluster.Catalog().Database(db) != nil
}

// record stores an entry of the profiler.
func (s *State) record(env *mql.Env, db string, doc bson.Raw) {
	ns := collection.Namespace{DB: db, Coll: collection.ProfileCollection}
	if s.Cluster.Catalog().Collection(ns) == nil {
		if err := s.createProfile(env, ns); err != nil {
			s.Log.Warn().Err(err).Str("database", db).Msg("system.profile cannot be created: commands of this database are not profiled")
			return
		}
	}
	_, failed, ierr := s.Cluster.Insert(&cluster.Op{Env: env, TxnNumber: -1}, ns, []bson.Raw{doc}, true)
	if ierr == nil && len(failed) > 0 {
		ierr = failed[0].Err
	}
	if ierr != nil {
		s.Log.Warn().Err(ierr).Str("database", db).Msg("system.profile cannot be written: a command is missing from it")
	}
}

// createProfile creates the capped collection of the profiler.
func (s *State) createProfile(env *mql.Env, ns collection.Namespace) error {
	b := bson.NewBuilder(nil)
	b.Bool("capped", true)
	b.Int64("size", profileBytes)
	return s.DDL.Create(&cluster.Op{Env: env, TxnNumber: -1}, ns, ddl.CreateOptions{Raw: b.Doc(), Implicit: true})
}

// profileEntry describes a completed command.
// Manual: reference/database-profiler.
func profileEntry(c *command.Call, err error, took time.Duration) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("op", c.Def.Op.String())
	ns := c.Running.NS
	if ns.Coll == "" {
		ns = collection.Namespace{DB: c.DB, Coll: "$cmd"}
	}
	b.String("ns", ns.String())
	appendProfiled(c, b, "command", profiledCommand(c))
	if c.Page.Opened != nil {
		appendProfiled(c, b, "originatingCommand", c.Page.Opened)
	}
	reply := replyDoc(c)
	open := appendReplied(c, b, reply)
	appendWork(c, b, open)
	b.Int32("numYield", 0)
	if err != nil {
		e := c.AsClientError(err)
		b.Bool("ok", false)
		b.String("errMsg", e.Msg)
		b.String("errName", e.Code.String())
		b.Int32("errCode", int32(e.Code))
	}
	b.Int("responseLength", int64(len(reply)))
	b.String("protocol", "op_msg")
	if m := c.Progress().Memory.Load(); m != nil {
		appendMemory(b, m)
	}
	b.Int("millis", took.Milliseconds())
	b.Int("workingMillis", workingTime(c, took).Milliseconds())
	b.Double("requestCharge", (c.Op.Receipt.Total() + ratelimit.MicroRU(c.Page.Charge)).Float())
	if c.Op.Waited > 0 { // Source: Azure Cosmos DB for MongoDB, "prevent-rate-limiting-errors"
		b.Double("estimatedDelayFromRateLimitingInMilliseconds", float64(c.Op.Waited)/float64(time.Millisecond))
	}
	b.DateTime("ts", c.Cluster.Now().UnixMilli())
	if !c.Cluster.Exclusive() {
		b.String("host", c.Server.Address()) // the entries of all servers are in one collection
	}
	b.String("client", clientHost(c.Conn.Remote().String()))
	if c.ConnState.AppName != "" {
		b.String("appName", c.ConnState.AppName)
	}
	appendUser(c, b)
	return b.Doc()
}

// workingTime returns the part of a command's duration in which it worked: without its waits for fsync's lock and for
// request units. Manual: release-notes/8.0.
func workingTime(c *command.Call, took time.Duration) time.Duration {
	return max(0, took-c.Progress().Locked.Sum()-c.Op.Waited)
}

// appendUser appends the user of the command.
func appendUser(c *command.Call, b *bson.Builder) {
	b.BeginArray("allUsers")
	u := c.ConnState.User
	if !u.IsZero() {
		b.BeginDoc("")
		b.String("user", u.Name)
		b.String("db", u.DB)
		b.End()
	}
	b.End()
	b.String("user", u.String())
}

// clientHost returns an address without its port.
func clientHost(addr string) string {
	if i := strings.LastIndexByte(addr, ':'); i > 0 {
		return strings.Trim(addr[:i], "[]")
	}
	return addr
}

// profiledCommand returns the command as an entry of the profiler shows it: of an update or delete its first
// statement with its comment, of other commands the whole body. A getMore gets the comment of the command that opened
// its cursor.
func profiledCommand(c *command.Call) bson.Raw {
	if d := c.Statement(); d != nil {
		return withComment(d, c.Body)
	}
	body := operations.Redact(c.Body, c.Server)
	if c.Page.Opened == nil {
		return body
	}
	return withComment(body, c.Page.Opened)
}

// withComment returns d with the comment of the command that it belongs to, unless it has its own.
func withComment(d, command bson.Raw) bson.Raw {
	comment, ok := command.Lookup("comment")
	if _, own := d.Lookup("comment"); own || !ok {
		return d
	}
	b := bson.NewBuilder(nil)
	b.Splice(d.Elements())
	b.Value("comment", comment)
	return b.Doc()
}

// appendProfiled appends a command to an entry of the profiler; of a command above profiledCommandMax bytes only its
// first field.
func appendProfiled(c *command.Call, b *bson.Builder, name string, d bson.Raw) {
	if len(d) <= profiledCommandMax {
		b.Raw(name, d)
		return
	}
	b.BeginDoc(name)
	first, _ := d.First()
	b.String("$truncated", string(first.Name)+": "+first.Value.String()+", ...")
	b.End()
}

// replyDoc returns the reply as written so far.
func replyDoc(c *command.Call) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Splice(c.Reply.Since(c.BodyAt))
	return b.Doc()
}

// appendReplied appends to an entry of the profiler values from the reply, such as nreturned, and reports whether the
// reply leaves a cursor open.
func appendReplied(c *command.Call, b *bson.Builder, reply bson.Raw) (open bool) {
	n, _ := reply.Get("n").AsInt64()
	if cursor, ok := reply.Get("cursor").Doc(); ok {
		if id, _ := cursor.Get("id").AsInt64(); id != 0 {
			b.Int64("cursorid", id)
			open = true
		} else {
			b.Bool("cursorExhausted", true)
		}
		for _, name := range []string{"firstBatch", "nextBatch"} {
			if list, ok := cursor.Get(name).Array(); ok {
				b.Int("nreturned", int64(list.Len()))
			}
		}
	}
	switch c.Def.Op {
	case command.OpInsert:
		b.Int("ninserted", n)
	case command.OpRemove:
		b.Int("ndeleted", n)
	case command.OpUpdate:
		upserted, made := reply.Get("upserted").Array()
		b.Int("nMatched", n-int64(upserted.Len()))
		changed, _ := reply.Get("nModified").AsInt64()
		b.Int("nModified", changed)
		if made {
			b.Int("nUpserted", int64(upserted.Len()))
		}
	}
	return open
}

// appendWork appends to an entry of the profiler the numbers of keys and documents that the command examined. Without
// a trace, or if the cursor stays open with its operators, only the documents and the plan are appended.
func appendWork(c *command.Call, b *bson.Builder, open bool) {
	docs := c.Op.Receipt.Sum(ratelimit.DocLoaded) + c.Op.Receipt.Sum(ratelimit.PointRead)
	if t := c.Op.Trace; t != nil && len(t.Parts) > 0 && !open {
		keys, seen, sorts, summary := int64(0), int64(0), false, ""
		for _, p := range t.Parts {
			tree := bson.NewBuilder(nil)
			p.Operator.Explain(tree, true)
			d := tree.Doc()
			keys += exec.SumOf(d, "keysExamined")
			seen += exec.SumOf(d, "docsExamined")
			text, sorted := plan.Summary(d)
			summary, sorts = text, sorts || sorted
		}
		b.Int("keysExamined", keys)
		b.Int("docsExamined", seen)
		if sorts {
			b.Bool("hasSortStage", true)
		}
		b.String("planSummary", summary)
		return
	}
	b.Int("docsExamined", docs)
	if sol := c.Progress().Plan.Load(); sol != nil {
		summary, sorts := plan.SummaryOf(sol.Shards)
		if sorts {
			b.Bool("hasSortStage", true)
		}
		b.String("planSummary", summary)
	}
}

// appendMemory appends the bytes that the blocking operators of a command hold now and at most held, and the amounts
// that each of them has spilled.
// Manual: release-notes/8.3, release-notes/8.2#slow-query-metrics-for-disk-spilling.
func appendMemory(b *bson.Builder, m *mql.Memory) {
	for i, x := range m.Spills() {
		if i == 0 {
			b.Bool("usedDisk", true)
		}
		name := strings.TrimPrefix(x.Stage, "$")
		b.Int64(name+"Spills", x.Spills)
		b.Int64(name+"SpilledBytes", x.Bytes)
		b.Int64(name+"SpilledRecords", x.Records)
		b.Int64(name+"SpilledDataStorageSize", x.Storage)
	}
	if peak := m.Peak(); peak > 0 {
		b.Int64("inUseTrackedMemBytes", m.Used())
		b.Int64("peakTrackedMemBytes", peak)
	}
}
