package harness

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/internal/casefile"
)

// serverChoice selects the server for each command of a case, of the servers that share a store. Commands go to the
// servers in turn, except for those that drivers send to a certain server, such as the rest of a cursor or of a
// transaction. A case about the state of one server stays at the first server (stay).
type serverChoice struct {
	conns        []*Conn
	last         int
	stay         bool           // all commands go to the first server
	cursors      map[int64]int  // the server of each open cursor
	transactions map[string]int // the server of each transaction, by session
}

// perServerCommands are the commands about state that each server of a cluster has of its own, as each mongos or mongod
// has. A case with one of them is sent to one server. So is a case that reads statistics: they include the
// writes of peers only after about a second. Manual: the pages of the commands.
var perServerCommands = []string{
	"autoCompact", "configureFailPoint", "connectionStatus", "currentOp", "getLastRequestStatistics", "getLog", "killOp", "killSessions",
	"logout", "planCacheClear", "planCacheClearFilters", "planCacheListFilters", "planCacheSetFilter", "profile", "saslStart",
	"serverStatus", "setParameter", "startSession", "top",
	"analyzeShardKey", "collStats", "dataSize", "dbStats",
}

// perServerStages are the pipeline stages about state that each server of a cluster has of its own, and the
// collection system.sessions, to which a server writes its sessions every few minutes.
var perServerStages = []string{"$collStats", "$currentOp", "$indexStats", "$listLocalSessions", "$planCacheStats", "$shardedDataDistribution", `"system.sessions"`}

// begin resets the state for a case. The first server depends on the case's line only, so each run uses the
// same servers.
func (u *serverChoice) begin(c *casefile.Case, before *casefile.Case) {
	u.last, u.stay = c.Line, false
	u.cursors, u.transactions = map[int64]int{}, map[string]int{}
	for _, of := range []*casefile.Case{before, c} {
		if of != nil {
			u.stay = u.stay || slices.ContainsFunc(of.Args, func(a casefile.Arg) bool { return isPerServer(a.Value) })
		}
	}
}

// isPerServer reports whether a command is about state of a single server.
func isPerServer(text string) bool {
	cmd, err := parseCommand(text)
	if err != nil {
		return false
	}
	first, err := cmd.IndexErr(0)
	if err != nil {
		return false
	}
	return slices.Contains(perServerCommands, first.Key()) || slices.ContainsFunc(perServerStages, func(stage string) bool { return strings.Contains(text, stage) })
}

// next returns the number of the server that a command goes to.
func (u *serverChoice) next(cmd bson.Raw) int {
	if u.stay || len(u.conns) == 1 {
		return 0
	}
	if at, ok := u.bound(cmd); ok {
		return at
	}
	u.last++
	at := u.last % len(u.conns)
	if cmd.Lookup("startTransaction").Type != 0 {
		u.transactions[cmd.Lookup("lsid").String()] = at
	}
	return at
}

// bound returns the server that a command must go to: that of its cursor or its transaction. ok is false if any server
// may run the command.
func (u *serverChoice) bound(cmd bson.Raw) (at int, ok bool) {
	first, err := cmd.IndexErr(0)
	if err != nil {
		return 0, false
	}
	ids := []bson.RawValue{first.Value()}
	if first.Key() == "killCursors" {
		list, _ := cmd.Lookup("cursors").ArrayOK()
		ids, _ = list.Values()
	}
	if first.Key() == "getMore" || first.Key() == "killCursors" {
		for _, v := range ids {
			id, _ := v.AsInt64OK()
			if at, ok = u.cursors[id]; ok {
				return at, true
			}
		}
	}
	if cmd.Lookup("autocommit").Type == 0 || cmd.Lookup("startTransaction").Type != 0 {
		return 0, false
	}
	at, ok = u.transactions[cmd.Lookup("lsid").String()]
	return at, ok
}

// answered records the server of a new cursor.
func (u *serverChoice) answered(at int, reply bson.Raw) {
	if cursor, ok := reply.Lookup("cursor").DocumentOK(); ok {
		if id, _ := cursor.Lookup("id").AsInt64OK(); id != 0 {
			u.cursors[id] = at
		}
	}
}

// command sends a command to the server that next selects.
func (u *serverChoice) command(db string, cmd bson.Raw) (bson.Raw, error) {
	at := u.next(cmd)
	reply, err := u.conns[at].Command(db, cmd)
	if err == nil {
		u.answered(at, reply)
	}
	return reply, err
}

// all sends a command to each server, and returns the last reply.
func (u *serverChoice) all(db string, cmd bson.Raw) (reply bson.Raw, err error) {
	for _, c := range u.conns {
		if reply, err = c.Command(db, cmd); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// close closes the connections.
func (u *serverChoice) close() {
	for _, c := range u.conns {
		c.Close()
	}
}
