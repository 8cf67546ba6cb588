package changestream

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
)

// group is the entry of a transaction while its operations are collected:
//
//	{lsid, txnNumber, op: "c", ns: "admin.$cmd", o: {applyOps: […]}, …, prevOpTime}
//
// Operations that do not fit into one entry are continued in further entries, each of which refers
// to the previous one as prevOpTime. All but the last have partialTxn: true; the last has the count
// of the operations.
// Manual: core/transactions-production-consideration#oplog-size-limit.
// Observed: mongorestore --oplogReplay.
type group struct {
	ops     eventBuilder
	held    int               // operations in ops
	commit  storage.Timestamp // of the transaction
	last    storage.Timestamp // own time of the last operation
	wall    int64
	session [16]byte
	owner   [32]byte
	number  int64
	count   int64             // operations of the transaction, with earlier entries
	prev    storage.Timestamp // of the entry before, 0 = none
}

// groupBytesMax bounds the size of the operations of one entry.
const groupBytesMax = bson.MaxDocumentBytes - 64<<10

// open reports whether there are operations that no entry has shown yet.
func (g *group) open() bool { return g.held > 0 }

// fits reports whether there is room for the operation of an item.
func (g *group) fits(it *item) bool {
	return g.held == 0 || g.ops.Len()+len(it.rec)+512 <= groupBytesMax
}

// inTransaction reports whether an item begins the operations of a transaction: a change of the
// transaction, or the creation of a collection before such a change.
func (o *Oplog) inTransaction(it *item, rec *changelog.Record) bool {
	if rec.Multi || it.cmd == nil {
		return rec.Multi
	}
	for i := o.s.at + 1; i < len(o.s.items) && o.s.items[i].ts == it.ts; i++ {
		if next, err := changelog.Decode(o.s.items[i].rec); err == nil && next.Multi {
			return true
		}
	}
	return false
}

// addToGroup adds the operation of an item.
func (o *Oplog) addToGroup(it *item, rec *changelog.Record) {
	g := &o.group
	if g.commit != it.ts {
		g.commit, g.count, g.prev = it.ts, 0, 0
	}
	if g.held == 0 {
		g.ops.begin()
		g.ops.BeginArray("applyOps")
	}
	g.held++
	g.count++
	g.last, g.wall = it.own, rec.Wall
	if rec.Multi {
		g.session, g.owner, g.number = rec.Session, rec.Owner, rec.TxnNumber
	}
	g.ops.BeginDoc("")
	o.operation(&g.ops, it, rec)
	g.ops.End()
}

// groupEntry makes the entry of the collected operations; partial means that more of the
// transaction follows.
func (o *Oplog) groupEntry(partial bool) bson.Raw {
	g, b := &o.group, &o.s.out
	g.ops.End()
	ts := g.commit
	if partial {
		g.ops.Bool("partialTxn", true)
		ts = g.last
	} else if g.prev != 0 {
		g.ops.Int64("count", g.count)
	}
	ops := g.ops.end()
	b.begin()
	appendSession(b, g.session, g.owner, g.number)
	b.String("op", "c")
	b.String("ns", "admin.$cmd")
	b.Raw("o", ops)
	o.tail(b, ts, g.wall)
	b.BeginDoc("prevOpTime")
	b.Timestamp("ts", g.prev.Seconds(), g.prev.Increment())
	if g.prev == 0 {
		b.Int64("t", -1)
	} else {
		b.Int64("t", 1)
	}
	b.End()
	g.held, g.prev = 0, ts
	return b.end()
}

// appendSession appends the session of an entry and the number of its transaction or
// retryable write.
func appendSession(b *eventBuilder, id [16]byte, owner [32]byte, number int64) {
	b.BeginDoc("lsid")
	b.Binary("id", 4, id[:])
	b.Binary("uid", 0, owner[:])
	b.End()
	b.Int64("txnNumber", number)
}
