package command

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
)

// The collection that the profiler writes to, and how much it keeps there.
// Manual: tutorial/manage-the-database-profiler.
const (
	profileCollection = "system.profile"
	profileBytes      = 1 << 20
	// profiledCommandMax is the largest command that is kept as a document.
	profiledCommandMax = 50 << 10
	// profileTimeMax bounds the time that keeping one entry may take.
	profileTimeMax = 2 * time.Second
)

// profiled returns how the commands on a database are recorded, and whether they are.
func (p *profiler) profiled(db string) (of profileOf, slowms int32, rate float64, on bool) {
	if !p.on.Load() {
		return profileOf{}, 0, 0, false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	of = p.dbs[db]
	return of, p.slowms, p.rate, of.level > 0
}

// traceProfiled has the operators of a command remembered where the profiler may ask
// for them.
func (s *Server) traceProfiled(c *Call) {
	if c.Op.Trace != nil || c.Def.Facts.has(Silent) {
		return
	}
	if _, _, _, on := s.profiler.profiled(c.DB); on {
		c.Op.Trace = &cluster.Trace{Earnest: true}
	}
}

// profile records a command that is over, if the level of its database says so: level 2
// every one, level 1 those that are slow (a sample of them) or, where there is a filter,
// those that it matches. The entry is there before the client has the reply. What goes
// wrong with it is logged and does not concern the client.
// Manual: tutorial/manage-the-database-profiler.
func (s *Server) profile(c *Call, err error) {
	if c.Def == nil || c.Def.Facts.has(Silent) {
		return
	}
	of, slowms, rate, on := s.profiler.profiled(c.DB)
	if !on {
		return
	}
	took := s.Cluster.Now().Sub(c.Start)
	if of.level == 1 && of.filter == nil && (took.Milliseconds() < int64(slowms) || rand.Float64() >= rate) {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), profileTimeMax)
	defer stop()
	env := mql.NewEnv(ctx)
	env.NowMillis, env.DB = s.Cluster.Now().UnixMilli(), c.DB
	doc := c.profileEntry(err, took)
	if of.level == 1 && of.filter != nil {
		if yes, ferr := of.filter.Matches(env, doc, &expr.Scratch{}); ferr != nil || !yes {
			return
		}
	}
	ns := collection.Namespace{DB: c.DB, Coll: profileCollection}
	if s.Cluster.Catalog.Peek().Collection(ns) == nil {
		if err := s.createProfile(env, ns); err != nil {
			s.Log.Warn().Err(err).Str("database", c.DB).Msg("system.profile cannot be made: commands of this database are not profiled")
			return
		}
	}
	_, failed, ierr := s.Cluster.Insert(&cluster.Op{Env: env, TxnNumber: -1}, ns, []bson.Raw{doc}, true)
	if ierr == nil && len(failed) > 0 {
		ierr = failed[0].Err
	}
	if ierr != nil {
		s.Log.Warn().Err(ierr).Str("database", c.DB).Msg("a command is missing from system.profile, as it cannot be written")
	}
}

// createProfile makes the capped collection of the profiler where it is missing.
func (s *Server) createProfile(env *mql.Env, ns collection.Namespace) error {
	b := bson.NewBuilder(nil)
	b.Bool("capped", true)
	b.Int64("size", profileBytes)
	return s.DDL.Create(&cluster.Op{Env: env, TxnNumber: -1}, ns, ddl.CreateOptions{Raw: b.Doc(), Implicit: true})
}

// profileEntry describes a command that is over.
// Manual: reference/database-profiler.
func (c *Call) profileEntry(err error, took time.Duration) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("op", c.Def.Op.String())
	ns := c.op.NS
	if ns.Coll == "" {
		ns = collection.Namespace{DB: c.DB, Coll: "$cmd"}
	}
	b.String("ns", ns.String())
	c.appendProfiled(b, "command", c.profiledCommand())
	if c.opened != nil {
		c.appendProfiled(b, "originatingCommand", c.opened)
	}
	reply := c.replyDoc()
	open := c.appendReplied(b, reply)
	c.appendWork(b, open)
	b.Int32("numYield", 0)
	if err != nil {
		e := mongoerr.From(cluster.Translate(err))
		b.Bool("ok", false)
		b.String("errMsg", e.Msg)
		b.String("errName", e.Code.String())
		b.Int32("errCode", int32(e.Code))
	}
	b.Int("responseLength", int64(len(reply)))
	b.String("protocol", "op_msg")
	b.Int("millis", took.Milliseconds())
	b.Double("requestCharge", (c.Op.Receipt.Total() + ratelimit.MicroRU(c.pageCharge)).Float())
	if c.Op.Waited > 0 { // Source: Azure Cosmos DB for MongoDB, "prevent-rate-limiting-errors"
		b.Double("estimatedDelayFromRateLimitingInMilliseconds", inMillis(c.Op.Waited))
	}
	b.DateTime("ts", c.Cluster.Now().UnixMilli())
	b.String("client", clientHost(c.Conn.Remote().String()))
	if c.Peer.appName != "" {
		b.String("appName", c.Peer.appName)
	}
	c.appendUser(b)
	return b.Doc()
}

// appendUser appends who ran the command.
func (c *Call) appendUser(b *bson.Builder) {
	b.BeginArray("allUsers")
	user, db, known := strings.Cut(c.Peer.user, "@")
	if known {
		b.BeginDoc("")
		b.String("user", user)
		b.String("db", db)
		b.End()
	}
	b.End()
	b.String("user", c.Peer.user)
}

// clientHost is an address without its port.
func clientHost(addr string) string {
	if i := strings.LastIndexByte(addr, ':'); i > 0 {
		return strings.Trim(addr[:i], "[]")
	}
	return addr
}

// profiledCommand is what the entry shows of the command: an update or delete by its
// first statement, anything else whole, a getMore with the comment of its cursor.
func (c *Call) profiledCommand() bson.Raw {
	if d := c.statement(); d != nil {
		return d
	}
	if _, own := c.Body.Lookup("comment"); own || c.opened == nil {
		return c.Body
	}
	comment, ok := c.opened.Lookup("comment")
	if !ok {
		return c.Body
	}
	b := bson.NewBuilder(nil)
	b.Splice(c.Body.Elements())
	b.Value("comment", comment)
	return b.Doc()
}

// appendProfiled appends a command, or the beginning of its text where it is long.
func (c *Call) appendProfiled(b *bson.Builder, name string, d bson.Raw) {
	if len(d) <= profiledCommandMax {
		b.Raw(name, d)
		return
	}
	b.BeginDoc(name)
	first, _ := d.First()
	b.String("$truncated", string(first.Name)+": "+first.Value.String()+", ...")
	b.End()
}

// replyDoc is the reply as far as it is written.
func (c *Call) replyDoc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Splice(c.Reply.Since(c.bodyAt))
	return b.Doc()
}

// appendReplied appends what the reply tells, and reports whether it leaves a cursor open.
func (c *Call) appendReplied(b *bson.Builder, reply bson.Raw) (open bool) {
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
	case OpInsert:
		b.Int("ninserted", n)
	case OpRemove:
		b.Int("ndeleted", n)
	case OpUpdate:
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

// appendWork appends what the command looked at. The operators of an open cursor go on
// working, so only their documents are told.
func (c *Call) appendWork(b *bson.Builder, open bool) {
	docs := c.Op.Receipt.Sum(ratelimit.DocLoaded) + c.Op.Receipt.Sum(ratelimit.PointRead)
	if t := c.Op.Trace; t != nil && len(t.Parts) > 0 && !open {
		keys, seen, sorts, summary := int64(0), int64(0), false, ""
		for _, p := range t.Parts {
			tree := bson.NewBuilder(nil)
			p.Operator.Explain(tree, true)
			d := tree.Doc()
			keys += sumOf(d, "keysExamined")
			seen += sumOf(d, "docsExamined")
			text, sorted := planSummary(d)
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
}

// planSummary is the lowest stage of a plan, with the keys of its index, and whether
// something above it sorts.
func planSummary(stage bson.Raw) (text string, sorts bool) {
	for {
		name, _ := stage.Get("stage").Str()
		sorts = sorts || name == "SORT"
		next, ok := stage.Get("inputStage").Doc()
		if !ok {
			if list, many := stage.Get("inputStages").Array(); many {
				first, _ := list.Index(0)
				next, ok = first.Doc()
			}
		}
		if ok {
			stage = next
			continue
		}
		if key, ok := stage.Get("keyPattern").Doc(); ok {
			return name + " " + key.String(), sorts
		}
		return name, sorts
	}
}
