package command

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
)

// latencyKind is how opLatencies tells commands apart.
type latencyKind uint8

// The kinds, in the order of the reply.
const (
	latencyReads latencyKind = iota
	latencyWrites
	latencyCommands
	latencyTransactions
	latencyKinds
)

// latencyNames are the fields of opLatencies.
var latencyNames = [latencyKinds]string{"reads", "writes", "commands", "transactions"}

// latencyOf is the kind of a command. Ends of transactions count as transactions.
func latencyOf(command string) latencyKind {
	switch command {
	case "find", "getMore", "aggregate", "count", "distinct", "mapReduce":
		return latencyReads
	case "insert", "update", "delete", "findAndModify", "bulkWrite":
		return latencyWrites
	case "commitTransaction", "abortTransaction":
		return latencyTransactions
	}
	return latencyCommands
}

// latencies sum up how long commands took. Safe for concurrent use.
type latencies [latencyKinds]struct{ micros, count atomic.Int64 }

func (l *latencies) add(command string, d time.Duration) {
	x := &l[latencyOf(command)]
	x.count.Add(1)
	x.micros.Add(max(d.Microseconds(), 1))
}

// statusLatencies is the section opLatencies. Manual: reference/command/serverStatus.
func statusLatencies(c *Call, b *bson.Builder) {
	for k := range c.latencies {
		x := &c.latencies[k]
		b.BeginDoc(latencyNames[k])
		b.Int64("latency", x.micros.Load())
		b.Int64("ops", x.count.Load())
		b.End()
	}
}

// active counts the commands that read and write documents at the moment, and the
// hellos that wait for news.
func (o *operations) active() (readers, writers, waiting, txns int32) {
	for _, op := range o.list() {
		if op.InTxn {
			txns++
		}
		switch kind := latencyOf(op.Name); {
		case kind == latencyReads:
			readers++
		case kind == latencyWrites:
			writers++
		case op.Name == "hello":
			waiting++
		}
	}
	return readers, writers, waiting, txns
}
