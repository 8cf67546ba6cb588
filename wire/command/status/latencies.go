package status

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// latencyNames are the names of the fields of opLatencies, in the order of serverStatus.
var latencyNames = [...]struct {
	of   command.Kind
	name string
}{{command.KindRead, "reads"}, {command.KindWrite, "writes"}, {command.KindCommand, "commands"}, {command.KindTxn, "transactions"}}

// latencies adds up the number and the durations of commands by their kind, for opLatencies. It is safe for
// concurrent use.
type latencies [command.Kinds]struct{ micros, count atomic.Int64 }

// add counts a command with its duration.
func (l *latencies) add(k command.Kind, d time.Duration) {
	x := &l[k]
	x.count.Add(1)
	x.micros.Add(max(d.Microseconds(), 1))
}

// statusLatencies appends the section opLatencies. Manual: reference/command/serverStatus.
func (s *State) statusLatencies(c *command.Call, b *bson.Builder) {
	for _, l := range latencyNames {
		x := &s.latencies[l.of]
		b.BeginDoc(l.name)
		b.Int64("latency", x.micros.Load())
		b.Int64("ops", x.count.Load())
		b.End()
	}
}

// countActive returns how many running commands read documents, how many write documents, and how many run in a
// transaction.
func countActive(s *command.Server) (readers, writers, txns int32) {
	for _, op := range s.Ops.List() {
		if op.InTxn {
			txns++
		}
		switch s.Lookup(op.Name).Kind {
		case command.KindRead:
			readers++
		case command.KindWrite:
			writers++
		}
	}
	return readers, writers, txns
}
