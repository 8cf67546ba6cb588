package command

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
)

// latencyNames are the fields of opLatencies, in its order.
var latencyNames = [...]struct {
	of   Kind
	name string
}{{KindRead, "reads"}, {KindWrite, "writes"}, {KindCommand, "commands"}, {KindTxn, "transactions"}}

// latencies sum up how long commands took, by their kind. Safe for concurrent use.
type latencies [kinds]struct{ micros, count atomic.Int64 }

func (l *latencies) add(k Kind, d time.Duration) {
	x := &l[k]
	x.count.Add(1)
	x.micros.Add(max(d.Microseconds(), 1))
}

// statusLatencies is the section opLatencies. Manual: reference/command/serverStatus.
func statusLatencies(c *Call, b *bson.Builder) {
	for _, l := range latencyNames {
		x := &c.latencies[l.of]
		b.BeginDoc(l.name)
		b.Int64("latency", x.micros.Load())
		b.Int64("ops", x.count.Load())
		b.End()
	}
}

// active counts the commands that read and write documents at the moment, and those in
// transactions.
func (o *operations) active() (readers, writers, txns int32) {
	for _, op := range o.list() {
		if op.InTxn {
			txns++
		}
		switch op.def.Kind {
		case KindRead:
			readers++
		case KindWrite:
			writers++
		}
	}
	return readers, writers, txns
}
