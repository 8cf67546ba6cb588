package status

import (
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// latencyNames are the names of the fields of opLatencies, in the order of serverStatus.
var latencyNames = [...]struct {
	of   command.Kind
	name string
}{{command.KindRead, "reads"}, {command.KindWrite, "writes"}, {command.KindCommand, "commands"}, {command.KindTxn, "transactions"}}

// durations adds up the number and the durations of commands. Safe for concurrent use.
type durations struct{ micros, count atomic.Int64 }

func (x *durations) add(micros int64) {
	x.count.Add(1)
	x.micros.Add(micros)
}

// appendTo appends the fields that opLatencies and latencyStats have for each kind of command.
func (x *durations) appendTo(b *bson.Builder) {
	b.Int64("latency", x.micros.Load())
	b.Int64("ops", x.count.Load())
}

// latencies adds up the commands by their kind, for opLatencies.
type latencies [command.Kinds]durations

// statusLatencies appends the section opLatencies. Manual: reference/command/serverStatus.
func (s *State) statusLatencies(c *command.Call, b *bson.Builder) {
	for _, l := range latencyNames {
		b.BeginDoc(l.name)
		s.latencies[l.of].appendTo(b)
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
