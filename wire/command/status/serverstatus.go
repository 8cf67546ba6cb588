package status

import (
	"math"
	"os"
	"runtime"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// section describes one section of serverStatus, which a request can include or exclude by its name.
type section struct {
	name      string
	onRequest bool                       // only if the request includes it
	when      func(c *command.Call) bool // nil: always
	append    func(c *command.Call, b *bson.Builder)
}

// sections returns the parts in the order of the reply.
func (s *State) sections() []section {
	return []section{
		{name: "asserts", append: statusAsserts},
		{name: "follower", when: func(c *command.Call) bool { return c.Server.Follower != nil }, append: statusFollower},
		{name: "backup", when: func(*command.Call) bool { return s.Backups != nil }, append: s.statusBackup},
		{name: "catalogStats", append: statusCatalog},
		{name: "connections", append: s.statusConnections},
		{name: "electionMetrics", onRequest: true, append: statusNothing},
		{name: "extra_info", append: statusExtra},
		{name: "flowControl", append: statusFlowControl},
		{name: "globalLock", append: statusGlobalLock},
		{name: "locks", append: s.statusLocks},
		{name: "logicalSessionRecordCache", append: statusSessions},
		{name: "metrics", append: s.statusMetrics},
		{name: "mirroredReads", onRequest: true, append: statusNothing},
		{name: "network", append: statusNetwork},
		{name: "opLatencies", append: s.statusLatencies},
		{name: "opcounters", append: statusOpcounters},
		{name: "opcountersRepl", append: statusNoOpcounters},
		{name: "partitionLoad", onRequest: true, append: statusPartitionLoad},
		{name: "latchAnalysis", onRequest: true, append: statusNothing},
		{name: "repl", when: command.IsMember, append: s.statusReplication},
		{name: "requestUnits", append: statusRequestUnits},
		{name: "security", append: func(c *command.Call, b *bson.Builder) { c.Server.Authenticator.AppendSecurity(c, b) }},
		{name: "storageEngine", append: statusEngine},
		{name: "storageRemote", when: isRemote, append: statusRemote},
		{name: "tcmalloc", onRequest: true, append: statusHeap},
		{name: "trafficRecording", append: statusRecording},
		{name: "transactions", append: statusTransactions},
		{name: "wiredTiger", append: s.statusCache},
		{name: "workMemory", append: s.statusWorkMemory},
		{name: "mem", append: statusMem},
	}
}

// runServerStatus replies with the status of the server, in sections. The request can leave a section out by name:
// false, and include those with onRequest by name: true or all: true. Numbers of MongoDB's engine that monitoring
// tools require are filled with the nearest equivalent.
// Manual: reference/command/serverStatus.
func (s *State) runServerStatus(c *command.Call) error {
	b := c.Reply
	now := c.Cluster.Now()
	up := now.Sub(c.Server.Started)
	b.String("host", c.Server.Address())
	b.String("version", c.Release().Version())
	b.String("process", process(c))
	b.Int64("pid", int64(os.Getpid()))
	b.Double("uptime", float64(int64(up.Seconds()))) // whole: mongostat reads an integer
	b.Int64("uptimeMillis", up.Milliseconds())
	b.Int64("uptimeEstimate", int64(up.Seconds()))
	b.DateTime("localTime", now.UnixMilli())
	all := false
	if v, ok := c.Body.Lookup("all"); ok {
		all = v.Truthy()
	}
	for _, part := range s.sections() {
		want := all || !part.onRequest
		if v, ok := c.Body.Lookup(part.name); ok {
			want = v.Truthy()
		}
		if want && (part.when == nil || part.when(c)) {
			b.BeginDoc(part.name)
			part.append(c, b)
			b.End()
		}
	}
	return nil
}

// process returns the name of the program that clients take the server for: mongod or mongos.
func process(c *command.Call) string {
	if command.IsMember(c) {
		return "mongod"
	}
	return "mongos"
}

// statusRequestUnits appends the section requestUnits of serverStatus: the name and version of the price list, and
// counts of runaway commands and of planned changes of RU/s.
func statusRequestUnits(c *command.Call, b *bson.Builder) {
	b.String("prices", c.Cluster.Budgets.PriceList().String())
	b.BeginDoc("runaways")
	for a := range ratelimit.RunawayActions {
		b.Int64(a.String(), c.Server.Stats.Runaways[a].Load())
	}
	b.End()
	b.Int64("plannedChanges", c.Server.Jobs.PlannedChanges())
}

// statusNothing appends nothing, for a section that is always empty.
func statusNothing(*command.Call, *bson.Builder) {}

// statusAsserts appends the numbers of failed commands, unforeseen errors and panics.
func statusAsserts(c *command.Call, b *bson.Builder) {
	var user int64
	for _, d := range c.Server.Table() {
		user += d.Counter.Failed.Load()
	}
	panics, unforeseen := c.Server.Defects.Counts()
	b.Int64("regular", 0)
	b.Int64("warning", 0)
	b.Int64("msg", unforeseen)
	b.Int64("user", user)
	b.Int64("tripwire", panics)
	b.Int64("rollovers", 0)
}

// statusCatalog appends the number of collections of each kind.
func statusCatalog(c *command.Call, b *bson.Builder) {
	var colls, capped, views, timeseries int32
	for coll := range c.Cluster.Catalog().Each {
		if coll.IsView() {
			views++
			continue
		}
		colls++
		if coll.Options.Capped {
			capped++
		}
		if coll.Options.TimeSeries != nil {
			timeseries++
		}
	}
	b.Int32("collections", colls)
	b.Int32("capped", capped)
	b.Int32("clustered", 0)
	b.Int32("timeseries", timeseries)
	b.Int32("views", views)
	b.Int32("internalCollections", 0)
	b.Int32("internalViews", 0)
}

// connections returns the counts of client connections from the listener or, if they are not available, those that
// the server itself counts.
func (s *State) connections(c *command.Call) wire.ConnStats {
	if s.Connections != nil {
		return s.Connections()
	}
	st := wire.ConnStats{Total: c.Conn.ID()}
	c.Server.EachConn(func(*command.Connection) bool { st.Current++; return true })
	return st
}

// statusConnections appends the counts of connections, with queued and refused ones.
func (s *State) statusConnections(c *command.Call, b *bson.Builder) {
	st := s.connections(c)
	b.Int32("current", int32(st.Current-st.Queued))
	b.Int32("available", int32(st.Free))
	b.Int64("totalCreated", st.Total)
	b.Int32("queued", int32(st.Queued))
	b.Int64("rejected", st.Rejected)
	b.Int32("active", int32(len(c.Server.Ops.List())))
	b.Int32("threaded", int32(st.Current-st.Queued))
	b.Int32("exhaustIsMaster", 0)
	b.Int32("exhaustHello", 0)
	b.Int32("awaitingTopologyChanges", c.Server.Stats.Awaiting.Load())
	b.BeginDoc("establishmentRateLimit")
	b.Int64("totalRejectedConnections", st.TooFast)
	b.Int64("totalExemptedFromEstablishmentRateLimiting", 0)
	b.End()
}

// statusExtra appends values of the operating system about the process.
func statusExtra(_ *command.Call, b *bson.Builder) {
	b.String("note", "fields vary by platform")
	user, system, faults := processUsage()
	b.Int64("user_time_us", user)
	b.Int64("system_time_us", system)
	b.Int64("page_faults", faults)
	b.Int32("threads", int32(runtime.NumGoroutine())) // goroutines take the place of threads
}

// statusFlowControl appends the section flowControl, with values that mean that no write waits for other members of a
// replica set.
func statusFlowControl(_ *command.Call, b *bson.Builder) {
	b.Bool("enabled", false)
	b.Int32("targetRateLimit", 1_000_000_000)
	b.Int64("timeAcquiringMicros", 0)
	b.Int64("isLaggedCount", 0)
}

// statusGlobalLock appends the section globalLock: the numbers of running commands that read and write. The queue of
// waiting commands is always shown as empty.
func statusGlobalLock(c *command.Call, b *bson.Builder) {
	b.Int64("totalTime", c.Cluster.Now().Sub(c.Server.Started).Microseconds())
	readers, writers, _ := countActive(c.Server)
	appendCount(b, "currentQueue", 0, 0)
	appendCount(b, "activeClients", readers, writers)
}

// appendCount appends the numbers of readers and writers and their sum.
func appendCount(b *bson.Builder, name string, readers, writers int32) {
	b.BeginDoc(name)
	b.Int32("total", readers+writers)
	b.Int32("readers", readers)
	b.Int32("writers", writers)
	b.End()
}

// statusSessions appends the number of sessions.
func statusSessions(c *command.Call, b *bson.Builder) {
	b.Int32("activeSessionsCount", int32(c.Server.Sessions.Stats().Sessions))
	b.Int32("sessionsCollectionJobCount", 0)
	b.Int32("lastSessionsCollectionJobDurationMillis", 0)
	b.DateTime("lastSessionsCollectionJobTimestamp", c.Server.Started.UnixMilli())
	b.Int32("transactionReaperJobCount", 0)
	b.Int32("lastTransactionReaperJobDurationMillis", 0)
	b.DateTime("lastTransactionReaperJobTimestamp", c.Server.Started.UnixMilli())
}

// statusMetrics appends the section metrics, such as how often each command ran and failed, and the counters of
// cursors and documents.
func (s *State) statusMetrics(c *command.Call, b *bson.Builder) {
	b.BeginDoc("changeStreams")
	if c.Release() >= release.V9_0 {
		c.Server.Stats.Changes.AppendTo(b)
	} else {
		b.Int64("showExpandedEvents", c.Server.Stats.Changes.Load("option.showExpandedEvents"))
	}
	b.End()
	b.BeginDoc("commands")
	b.Int64("<UNKNOWN>", c.Server.Stats.Unknown.Load())
	for _, d := range c.Server.Table() {
		b.BeginDoc(d.Name)
		if d.Facts.Has(command.Updates) {
			b.Int64("arrayFilters", d.Counter.ArrayFilters.Load())
		}
		b.Int64("failed", d.Counter.Failed.Load())
		if d.Facts.Has(command.Updates) {
			b.Int64("pipeline", d.Counter.Pipelines.Load())
		}
		b.Int64("total", d.Counter.Total.Load())
		b.End()
	}
	b.End()
	cur := c.Server.Cursors.Stats()
	b.BeginDoc("cursor")
	b.Int64("evicted", cur.Evicted) // not in MongoDB: closed because all cursors together held too much memory
	b.Int64("heldBytes", cur.Bytes)
	b.Int64("parked", cur.Parked) // not in MongoDB: how often a cursor released its iterators between batches
	b.Int64("timedOut", cur.TimedOut)
	b.Int64("totalOpened", cur.Opened)
	b.BeginDoc("open")
	b.Int64("noTimeout", int64(cur.NoTimeout))
	b.Int64("pinned", int64(cur.Pinned))
	b.Int64("total", int64(cur.Open))
	b.End()
	b.End()
	b.BeginDoc("document")
	b.Int64("deleted", c.Server.Stats.Delete.Load())
	b.Int64("inserted", c.Server.Stats.Insert.Load())
	b.Int64("returned", c.Server.Stats.Returned.Load())
	b.Int64("updated", c.Server.Stats.Update.Load())
	b.End()
	b.BeginDoc("operation")
	b.Int64("killedDueToMaxTimeMSExpired", c.Server.Stats.TimedOut.Load())
	b.Int64("writeConflicts", c.Cluster.WriteConflicts())
	b.End()
	b.BeginDoc("query")
	for _, stage := range [...]string{"bucketAuto", "group", "lookup", "setWindowFields", "sort"} {
		x := c.Server.Spills.Of("$" + stage)
		b.BeginDoc(stage)
		b.Int64("spills", x.Spills)
		b.Int64("spilledBytes", x.Bytes)
		b.Int64("spilledRecords", x.Records)
		b.Int64("spilledDataStorageSize", x.Storage)
		b.End()
	}
	s.queryMemory.appendTo(c, b)
	b.End()
	s.Planner.AppendStats(b)
	b.BeginDoc("queryExecutor")
	b.Int64("scannedObjects", c.Server.Stats.Loaded.Load())
	b.End()
	var passes, deleted int64
	if c.Server.Jobs != nil {
		passes, deleted = c.Server.Jobs.Expired()
	}
	b.BeginDoc("ttl")
	b.Int64("deletedDocuments", deleted)
	b.Int64("passes", passes)
	b.End()
}

// statusNetwork appends the counts of bytes and requests.
func statusNetwork(c *command.Call, b *bson.Builder) {
	b.Int64("bytesIn", c.Server.Stats.BytesIn.Load())
	b.Int64("bytesOut", c.Server.Stats.BytesOut.Load())
	b.Int64("physicalBytesIn", c.Server.Stats.BytesIn.Load())
	b.Int64("physicalBytesOut", c.Server.Stats.BytesOut.Load())
	b.Int64("numRequests", c.Server.Stats.Requests.Load())
}

// statusOpcounters appends the number of operations of each kind.
func statusOpcounters(c *command.Call, b *bson.Builder) {
	commands := int64(0)
	for _, d := range c.Server.Table() {
		if d.Op == command.OpCommand {
			commands += d.Counter.Total.Load()
		}
	}
	s := &c.Server.Stats
	b.Int64("insert", s.Insert.Load())
	b.Int64("query", s.Query.Load())
	b.Int64("update", s.Update.Load())
	b.Int64("delete", s.Delete.Load())
	b.Int64("getmore", s.Getmore.Load())
	b.Int64("command", commands)
}

// statusNoOpcounters reports that nothing was replicated.
func statusNoOpcounters(_ *command.Call, b *bson.Builder) {
	for name := range strings.FieldsSeq("insert query update delete getmore command") {
		b.Int64(name, 0)
	}
}

// statusEngine appends the abilities of the storage engine and the sizes of its files.
func statusEngine(c *command.Call, b *bson.Builder) {
	b.String("name", c.Server.Engine)
	b.Bool("supportsCommittedReads", true)
	b.Bool("supportsPendingDrops", false)
	b.Bool("supportsSnapshotReadConcern", true)
	b.Bool("readOnly", c.Server.ReadOnly)
	b.Bool("persistent", !c.Server.Transient)
	b.Bool("backupCursorOpen", false)
	m := c.Cluster.StoreMetrics()
	b.Int64("diskBytes", int64(m.DiskBytes))
	b.Int64("changeLogBytes", int64(m.LogBytes))
	b.Int64("keptLogBytes", m.KeptBytes)
	if m.DiskTotal > 0 {
		b.Int64("diskFreeBytes", int64(m.DiskFree))
	}
}

// statusRecording appends the section trafficRecording, which reports that no traffic is recorded.
func statusRecording(_ *command.Call, b *bson.Builder) { b.Bool("running", false) }

// statusTransactions appends the counts of transactions, and of retried statements.
func statusTransactions(c *command.Call, b *bson.Builder) {
	s := c.Server.Sessions.Stats()
	b.Int64("retriedCommandsCount", 0)
	b.Int64("retriedStatementsCount", s.Replayed)
	b.Int64("transactionsCollectionWriteCount", 0)
	_, _, active := countActive(c.Server)
	b.Int64("currentActive", int64(active))
	b.Int64("currentInactive", int64(max(s.Open-int(active), 0)))
	b.Int64("currentOpen", int64(s.Open))
	b.Int64("totalStarted", s.Started)
	b.Int64("totalCommitted", s.Committed)
	b.Int64("totalAborted", s.Aborted)
	b.Int64("currentPrepared", 0)
	b.Int64("totalPrepared", 0)
	b.Int64("totalPreparedThenCommitted", 0)
	b.Int64("totalPreparedThenAborted", 0)
}

// statusCache appends the fields of MongoDB's engine from which mongostat computes its columns, filled with their
// equivalents in this store. Written data that is not in a table yet counts as dirty, and a flush as a checkpoint.
// There are as many tickets as connections that the server admits, because every connection may run a command.
// Source: mongo-tools, mongostat/status.
func (s *State) statusCache(c *command.Call, b *bson.Builder) {
	m := c.Cluster.StoreMetrics()
	b.BeginDoc("cache")
	b.Int64("tracked dirty bytes in the cache", int64(m.DirtyBytes))
	b.Int64("bytes currently in the cache", m.CacheBytes+int64(m.DirtyBytes))
	b.Int64("maximum bytes configured", max(m.CacheMax, 1))
	b.End()
	b.BeginDoc("transaction")
	b.Int64("transaction checkpoints", m.Checkpoints)
	b.End()
	readers, writers, _ := countActive(c.Server)
	st := s.connections(c)
	b.BeginDoc("concurrentTransactions")
	for _, kind := range [...]struct {
		name string
		out  int32
	}{{"read", readers}, {"write", writers}} {
		total := max(int32(min(st.Current+st.Free, math.MaxInt32)), kind.out)
		b.BeginDoc(kind.name)
		b.Int32("out", kind.out)
		b.Int32("available", total-kind.out)
		b.Int32("totalTickets", total)
		b.End()
	}
	b.End()
}

// isRemote reports whether the store is remote.
func isRemote(c *command.Call) bool {
	return c.Cluster.Remote() != nil
}

// statusRemote appends the figures of a remote store.
func statusRemote(c *command.Call, b *bson.Builder) {
	for _, f := range c.Cluster.Remote().Figures() {
		b.Int64(f.Name, f.Value)
	}
}

// statusMem appends the memory of the process, in MB.
func statusMem(_ *command.Call, b *bson.Builder) {
	var m runtime.MemStats
	resident, virtual := procField("/proc/self/status", "VmRSS:"), procField("/proc/self/status", "VmSize:")
	if resident == 0 {
		runtime.ReadMemStats(&m)
		resident, virtual = int64(m.HeapInuse), int64(m.Sys)
	}
	b.Int32("bits", 64)
	b.Int32("resident", int32(max(resident>>20, 1)))
	b.Int32("virtual", int32(max(virtual>>20, 1)))
	b.Bool("supported", true)
}

// statusHeap appends the sizes of Go's heap in bytes, in the section in which MongoDB has its allocator. Garbage that
// has not been collected yet counts as allocated.
func statusHeap(_ *command.Call, b *bson.Builder) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.BeginDoc("generic")
	b.Int64("current_allocated_bytes", int64(m.HeapAlloc))
	b.Int64("heap_size", int64(m.HeapSys))
	b.End()
}
