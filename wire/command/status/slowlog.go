package status

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/operations"
)

// loggedCommandMax is the size, in bytes, above which the log shows only the first field of a command.
// Manual: reference/parameters (maxLogAttributeSizeKB).
const loggedCommandMax = 10 << 10

// logSlow writes an entry of the profiler to the log, and renames its fields to those of MongoDB's log. Values of
// documents and filters are left out unless Config.LogValues is set (see loggedCommand), and so is the message of an
// error, which quotes them.
// Manual: reference/log-messages.
func (s *State) logSlow(message string, entry bson.Raw) {
	b := bson.NewBuilder(nil)
	for it := entry.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "op":
			kind, _ := it.Value.Str()
			b.String("type", kind)
		case "command", "originatingCommand":
			d, _ := it.Value.Doc()
			appendLogged(b, name, loggedCommand(d, s.LogValues))
		case "errMsg":
			if s.LogValues {
				b.Value(name, it.Value)
			}
		case "millis":
			b.Value("durationMillis", it.Value)
		case "responseLength":
			b.Value("reslen", it.Value)
		case "numYield":
			b.Value("numYields", it.Value)
		case "client":
			b.Value("remote", it.Value)
		case "ts", "allUsers", "user":
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	s.Log.Info().RawJSON("attr", []byte(ejson.String(b.Doc()))).Msg(message)
}

// appendLogged appends a command to a log entry; of a command above loggedCommandMax bytes only its first field.
func appendLogged(b *bson.Builder, name string, d bson.Raw) {
	if len(d) <= loggedCommandMax {
		b.Raw(name, d)
		return
	}
	b.BeginDoc(name)
	if first, ok := d.First(); ok {
		b.ValueBytes(first.Name, first.Value)
	}
	b.Bool("$truncated", true)
	b.End()
}

// slowWatch examines the running commands once per second, to log those that run for long. It has a timer only while
// commands run, so that an idle server does nothing. It is safe for concurrent use.
type slowWatch struct {
	armed  atomic.Bool
	check  func() (again bool) // reports whether commands are still running
	mu     sync.Mutex
	logged map[int64]bool // the running commands that have been logged
}

// slowWatchEvery is the interval of slowWatch.
const slowWatchEvery = time.Second

// arm starts the timer, if it is not running.
func (w *slowWatch) arm() {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		time.AfterFunc(slowWatchEvery, w.tick)
	}
}

// tick examines the running commands by calling check, and restarts the timer if commands are still running.
func (w *slowWatch) tick() {
	w.armed.Store(false) // a command that begins from now on arms it again
	if w.check() {
		w.arm()
	}
}

// logInProgress logs each command that has run, without its idle time, for at least the limit of its database, once.
// It reports whether commands are still running.
// Manual: release-notes/8.3#slow-in-progress-query-logs.
func (s *State) logInProgress() bool {
	s.slowWatch.mu.Lock()
	defer s.slowWatch.mu.Unlock()
	now, logged, running := s.Cluster.Now(), map[int64]bool{}, false
	for _, op := range s.Ops.List() {
		if s.Lookup(op.Name).Facts.Has(command.Silent) {
			continue
		}
		running = true
		if s.slowWatch.logged[op.ID] {
			logged[op.ID] = true
			continue
		}
		s.profiler.mu.RLock()
		limit := s.profiler.of(op.NS.DB).inProg
		s.profiler.mu.RUnlock()
		p := op.Progress()
		if took := now.Sub(op.Start) - p.Idle.Total(now); took >= limit && !p.Idle.Waiting() {
			s.logRunning(op, took, now)
			logged[op.ID] = true
		}
	}
	s.slowWatch.logged = logged
	return running
}

// logRunning logs a running command, unless it has ended in between.
func (s *State) logRunning(op *operations.Operation, took time.Duration, now time.Time) {
	body := op.Command()
	if body == nil {
		return
	}
	b, p := bson.NewBuilder(nil), op.Progress()
	b.String("op", s.Lookup(op.Name).Op.String())
	ns := op.NS
	if ns.Coll == "" {
		ns.Coll = "$cmd"
	}
	b.String("ns", ns.String())
	if op.Client != nil && op.Client.AppName != "" {
		b.String("appName", op.Client.AppName)
	}
	b.Raw("command", body)
	b.Int32("opId", int32(op.ID))
	if sol := p.Plan.Load(); sol != nil {
		text, _ := plan.SummaryOf(sol.Shards)
		b.String("planSummary", text)
	}
	if m := p.Memory.Load(); m != nil {
		appendMemory(b, m)
	}
	b.String("client", clientHost(op.Conn.Remote().String()))
	b.Int("millis", took.Milliseconds())
	b.Int("workingMillis", max(0, took-p.Locked.Total(now)).Milliseconds())
	s.logSlow("Slow in-progress query", b.Doc())
}
