package console

import (
	"encoding/json"
	"runtime/debug"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// statusReply is the state of the queried server, from the replies of its commands. What the user may not see, or the
// server does not have, is missing.
type statusReply struct {
	Host    string          `json:"host"`
	Uptime  int64           `json:"uptimeSeconds"`
	Memory  memoryStatus    `json:"memory"`
	CPU     cpuStatus       `json:"cpu"`
	Disk    diskReply       `json:"disk"`
	Cache   cacheStatus     `json:"cache"`
	Clients clientStatus    `json:"connections"`
	Cursors json.RawMessage `json:"cursors"`      // as in serverStatus
	Txns    json.RawMessage `json:"transactions"` // as in serverStatus
	Backup  json.RawMessage `json:"backup,omitempty"`
	Jobs    json.RawMessage `json:"jobs,omitempty"` // background jobs with their progress, as in $currentOp
}

// memoryStatus has the memory of the process in bytes, and of what it holds for clients by owner.
type memoryStatus struct {
	Resident int64         `json:"residentBytes"`
	Heap     int64         `json:"heapBytes"`
	Limit    int64         `json:"limitBytes"`   // that the garbage collector keeps to
	Machine  int64         `json:"machineBytes"` // 0 if unknown
	Owners   []memoryOwner `json:"owners"`       // the first is the sum of those below the common limit
}

type memoryOwner struct {
	Name    string `json:"name"`
	Max     int64  `json:"maxBytes"`
	Used    int64  `json:"bytes"`
	Peak    int64  `json:"peakBytes"`
	Refused int64  `json:"refused"`
}

// cpuStatus has the processor time of the process since its start.
type cpuStatus struct {
	User       int64 `json:"userMicros"`
	System     int64 `json:"systemMicros"`
	Processors int64 `json:"processors"` // of the machine, 0 if unknown
}

type cacheStatus struct {
	Used  int64 `json:"bytes"` // with what is not in a table yet
	Dirty int64 `json:"dirtyBytes"`
	Max   int64 `json:"maxBytes"`
}

// clientStatus counts connections.
type clientStatus struct {
	Current   int64           `json:"current"`
	Available int64           `json:"available"`
	Queued    int64           `json:"queued"`
	Rejected  int64           `json:"rejected"`
	Created   int64           `json:"totalCreated"`
	By        json.RawMessage `json:"by,omitempty"` // of each application, driver and user, the most frequent first
}

const (
	clientsMax = 50 // applications and users in a reply
	jobsMax    = 50
)

// status returns the state of the server, as far as the user may see it.
func status(q *query) (any, error) {
	if err := q.mayLoad(); err != nil {
		return nil, err
	}
	return q.shared("", currentStatus)
}

// currentStatus is status without answers that are kept.
func currentStatus(q *query) (any, error) {
	reply, err := q.runCommand("admin", bson.D{{"serverStatus", 1}, {"tcmalloc", true}, {"metrics", true}, {"locks", false}, {"opLatencies", false}})
	if err != nil {
		return nil, err
	}
	out := &statusReply{Uptime: numberAt(reply, "uptimeMillis") / 1000, Cursors: rawAt(reply, "metrics", "cursor"), Txns: rawAt(reply, "transactions"), Backup: rawAt(reply, "backup")}
	out.Host, _ = reply.Get("host").Str()
	out.Memory = memoryStatus{Resident: numberAt(reply, "mem", "resident") << 20, Heap: numberAt(reply, "tcmalloc", "generic", "current_allocated_bytes"),
		Limit: debug.SetMemoryLimit(-1), Owners: []memoryOwner{}}
	owners, _ := reply.Get("workMemory").Doc()
	for name, v := range owners.Fields() {
		d, _ := v.Doc()
		out.Memory.Owners = append(out.Memory.Owners, memoryOwner{string(name), numberAt(d, "maxBytes"), numberAt(d, "bytes"), numberAt(d, "peakBytes"), numberAt(d, "refused")})
	}
	out.CPU = cpuStatus{User: numberAt(reply, "extra_info", "user_time_us"), System: numberAt(reply, "extra_info", "system_time_us")}
	if host, err := q.runCommand("admin", bson.D{{"hostInfo", 1}}); err == nil {
		out.Memory.Machine, out.CPU.Processors = numberAt(host, "system", "memSizeMB")<<20, numberAt(host, "system", "numCores")
	}
	out.Cache = cacheStatus{numberAt(reply, "wiredTiger", "cache", "bytes currently in the cache"), numberAt(reply, "wiredTiger", "cache", "tracked dirty bytes in the cache"),
		numberAt(reply, "wiredTiger", "cache", "maximum bytes configured")}
	out.Disk = q.diskSizes()
	c := func(name string) int64 { return numberAt(reply, "connections", name) }
	out.Clients = clientStatus{Current: c("current"), Available: c("available"), Queued: c("queued"), Rejected: c("rejected"), Created: c("totalCreated"), By: q.clients()}
	out.Jobs = q.currentOp(bson.D{{"allUsers", true}, {"idleSessions", false}},
		bson.D{{"$match", bson.D{{"percent", bson.D{{"$exists", true}}}}}}, bson.D{{"$limit", jobsMax}},
		bson.D{{"$project", bson.D{{"desc", 1}, {"ns", 1}, {"host", 1}, {"percent", 1}, {"progress", 1}, {"secs_running", 1}, {"secondsLeft", 1}}}})
	return out, nil
}

// clients returns the numbers of connections of each application, driver and user, the most frequent first, without those
// of the console; nil if the user may not see them.
func (q *query) clients() json.RawMessage {
	return q.currentOp(bson.D{{"allUsers", true}, {"idleConnections", true}, {"idleSessions", false}, {"localOps", true}},
		bson.D{{"$match", bson.D{{"connectionId", bson.D{{"$lt", int64(localConnIDs)}}}}}},
		bson.D{{"$group", bson.D{
			{"_id", bson.D{{"appName", "$appName"}, {"driver", "$clientMetadata.driver.name"}, {"version", "$clientMetadata.driver.version"},
				{"user", bson.D{{"$first", "$effectiveUsers"}}}}},
			{"connections", bson.D{{"$sum", 1}}}, {"active", bson.D{{"$sum", bson.D{{"$cond", bson.A{"$active", 1, 0}}}}}}}}},
		bson.D{{"$sort", bson.D{{"connections", -1}, {"_id", 1}}}}, bson.D{{"$limit", clientsMax}})
}

// currentOp runs a pipeline that begins with $currentOp; it returns nil if the user may not.
func (q *query) currentOp(args bson.D, then ...bson.D) json.RawMessage {
	pipeline := bson.A{bson.D{{"$currentOp", args}}}
	for _, stage := range then {
		pipeline = append(pipeline, stage)
	}
	reply, err := q.runCommand("admin", bson.D{{"aggregate", 1}, {"pipeline", pipeline}, {"cursor", bson.D{{"batchSize", 1000}}}})
	if err != nil {
		return nil
	}
	return batchOf(reply)
}

// logReply has the last lines of the log.
type logReply struct {
	Total int64    `json:"total"` // lines since the start of the server
	Lines []string `json:"lines"` // the oldest first, as in the log; values of commands only if the log has them
}

// logLinesMax is the maximum number of lines in a reply.
const logLinesMax = 1000

// lastLog returns the last lines of the log, by the command getLog in the name of the user: at most lines, and only those
// after the first after lines.
func lastLog(q *query) (any, error) {
	most, err := q.number("lines", 100, 1, logLinesMax)
	if err != nil {
		return nil, err
	}
	after, err := q.number("after", 0, 0, 1<<53)
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand("admin", bson.D{{"getLog", "global"}})
	if err != nil {
		return nil, err
	}
	out := logReply{Total: numberAt(reply, "totalLinesWritten"), Lines: []string{}}
	lines := texts(reply.Get("log"))
	n := max(0, min(int64(len(lines)), most, out.Total-after))
	out.Lines = append(out.Lines, lines[int64(len(lines))-n:]...)
	return out, nil
}

// numberAt returns an integer in nested documents, 0 if it is missing.
func numberAt(d bson.Raw, path ...string) int64 {
	for _, name := range path[:len(path)-1] {
		d, _ = d.Get(name).Doc()
	}
	n, _ := d.Get(path[len(path)-1]).AsInt64()
	return n
}

// rawAt returns a nested document as JSON, nil if it is missing.
func rawAt(d bson.Raw, path ...string) json.RawMessage {
	for _, name := range path {
		d, _ = d.Get(name).Doc()
	}
	if d == nil {
		return nil
	}
	return json.RawMessage(ejson.String(d))
}
