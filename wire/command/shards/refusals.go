package shards

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// The demand that budgets refuse is counted in request units at the partitions that refuse it, for the history of
// partitions and the replay of recorded traffic. A refused statement has the price that statements of its shape, with its
// value, had when they ran.
//
// How much of it is new demand is uncertain, because clients send refused statements again. So two sums are counted:
//
//	most   each refused statement is new, unless it is the retry of a retryable write; one whose value never ran has the
//	       average price of its shape, one of a shape that never ran the highest average price in its collection
//	least  a statement that was refused within repeatSeconds before, with the same text and values, and has not run
//	       since, is the same request again, also when it runs: its charge is then no further demand; a statement
//	       without a price of its value or shape costs refusedRU

const (
	// repeatSeconds is the time for which a refused statement is remembered.
	repeatSeconds = 60
	// repeatSlots is the number of refused statements that are remembered; a later one displaces an earlier one.
	repeatSlots = 8192
	// secondBits is the number of bits of a slot that hold the second of the refusal; the others are those of a hash.
	secondBits = 24
)

// repeats remembers statements that were refused lately. The zero repeats is ready. Safe for concurrent use.
type repeats struct {
	last  atomic.Int64 // second of the latest refusal
	slots [repeatSlots]atomic.Uint64
}

// slot returns the place of a hash, and what a slot holds for it in a second.
func (r *repeats) slot(hash uint64, second int64) (*atomic.Uint64, uint64) {
	return &r.slots[hash%repeatSlots], hash>>secondBits<<secondBits | uint64(second)&(1<<secondBits-1)
}

// refused remembers a refused statement, and reports whether it was refused lately and has not run since.
func (r *repeats) refused(hash uint64, second int64) (again bool) {
	r.last.Store(second)
	s, now := r.slot(hash, second)
	was := s.Swap(now)
	age := (now - was) & (1<<secondBits - 1)
	return was != 0 && was>>secondBits == now>>secondBits && age <= repeatSeconds
}

// any reports whether statements are remembered.
func (r *repeats) any(second int64) bool {
	last := r.last.Load()
	return last != 0 && second-last <= repeatSeconds
}

// ran forgets a statement that has run in a second, and reports whether it was refused lately.
func (r *repeats) ran(hash uint64, second int64) (again bool) {
	s, now := r.slot(hash, second)
	was := s.Load()
	if was == 0 || was>>secondBits != now>>secondBits || !s.CompareAndSwap(was, 0) {
		return false
	}
	return (now-was)&(1<<secondBits-1) <= repeatSeconds
}

// recordRefusals counts the price of the statements of a completed command that budgets refused, at the partitions where
// they would have worked, and forgets repeated statements that ran. body is the query, prices are those of its shape,
// refused are the refused statements.
func (s *State) recordRefusals(c *command.Call, def *command.Def, body bson.Raw, prices *shapePrices, refused map[int]*cluster.Refusal) {
	second := c.Start.Unix()
	if len(refused) == 0 && !s.repeats.any(second) || c.Page.Opened != nil {
		return
	}
	ran, again := 0, 0
	s.eachStatement(c, def, body, func(i int, text bson.Raw, filter bson.Raw) {
		hash := s.shapes.textHash(c.Running.NS, def.Name, text, filter)
		x := refused[i]
		if x == nil {
			ran++
			if s.repeats.ran(hash, second) {
				again++
			}
			return
		}
		least, most, known := prices.of(s.shapes.valueHash(filter))
		if !known {
			most = max(most, s.dearest.of(&s.shapes, c.Running.NS, second))
		}
		if s.repeats.refused(hash, second) {
			least = 0
		}
		if c.Args.Retryable() && s.repeats.refused(maphash.Comparable(s.shapes.seed, writeOf{c.Args.ID, c.Args.TxnNumber, i}), second) {
			most = least // the driver retries a write
		}
		n := float64(max(1, len(x.Shards)))
		for _, shard := range x.Shards {
			s.Cluster.Budgets.CountRefused(ratelimit.ShardID{Collection: x.Collection, Shard: shard}, ratelimit.MicroRU(least/n*float64(ratelimit.RU)), ratelimit.MicroRU(most/n*float64(ratelimit.RU)))
		}
	})
	if again == 0 {
		return
	}
	c.Op.Receipt.EachCharge(func(at ratelimit.ShardID, charge ratelimit.MicroRU) { // the receipt does not assign charges to statements
		s.Cluster.Budgets.CountRetried(at, charge*ratelimit.MicroRU(again)/ratelimit.MicroRU(ran))
	})
}

// refusalsOf returns the refused statements of a command by their index.
func refusalsOf(c *command.Call) map[int]*cluster.Refusal {
	if len(c.Op.Refusals) == 0 {
		return nil
	}
	out := make(map[int]*cluster.Refusal, len(c.Op.Refusals))
	for i := range c.Op.Refusals {
		out[c.Op.Refusals[i].Index] = &c.Op.Refusals[i]
	}
	return out
}

// eachStatement visits the statements of a command: those of a batch, else the query. text identifies the statement,
// filter is its filter, empty for an inserted document. A bulkWrite has no statements here.
func (s *State) eachStatement(c *command.Call, def *command.Def, body bson.Raw, visit func(i int, text, filter bson.Raw)) {
	switch {
	case def.Namespace == command.SeveralNamespaces:
	case def.Statements != "":
		i := 0
		c.EachStatement(func(d bson.Raw) bool {
			var filter bson.Raw
			if def.Query != nil {
				filter, _ = def.Query(d)
			}
			visit(i, d, filter)
			i++
			return true
		})
	case def.Query != nil:
		filter, sort := def.Query(body)
		visit(0, sort, filter)
	}
}

// textHash returns a hash that identifies a statement by its command, text and filter.
func (x *shapes) textHash(ns collection.Namespace, name string, text, filter bson.Raw) uint64 {
	var h maphash.Hash
	h.SetSeed(x.seed)
	for _, part := range []string{ns.DB, ns.Coll, name} {
		h.WriteString(part)
		h.WriteByte(0)
	}
	h.Write(filter)
	h.Write(text)
	return h.Sum64()
}

// dearest holds the highest average price of a shape of each collection, as of one second. The zero dearest is ready.
type dearest struct {
	mu     sync.Mutex
	second int64
	by     map[collection.Namespace]float64
}

// of returns the highest average price, in RU, of a shape of a collection that has run; 0 if none has. It reads the
// shapes at most once in a second.
func (d *dearest) of(x *shapes, ns collection.Namespace, second int64) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil || d.second != second {
		d.second, d.by = second, map[collection.Namespace]float64{}
		for i := range x.parts {
			p := &x.parts[i]
			p.mu.Lock()
			for _, s := range p.by {
				if ran := s.runs - s.refused; ran > 0 {
					d.by[s.ns] = max(d.by[s.ns], s.charge.Float()/float64(ran))
				}
			}
			p.mu.Unlock()
		}
	}
	return d.by[ns]
}

// writeOf identifies a statement of a retryable write.
type writeOf struct {
	session   session.ID
	txnNumber int64
	statement int
}

// ranOf returns the number of statements of a completed command that were not refused.
func ranOf(c *command.Call, def *command.Def, r *shapeRun) int {
	n := 1
	if def.Statements != "" && !r.more {
		n = 0
		c.EachStatement(func(bson.Raw) bool { n++; return true })
		return max(0, n-len(c.Op.Refusals))
	}
	if r.refused {
		return 0
	}
	return n
}
