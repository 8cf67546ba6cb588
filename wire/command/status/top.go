package status

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// usageNames are the types of operations in the reply of top and their field names, in its order.
var usageNames = [...]struct {
	of   command.OpType
	name string
}{{command.OpQuery, "queries"}, {command.OpGetMore, "getmore"}, {command.OpInsert, "insert"}, {command.OpUpdate, "update"}, {command.OpRemove, "remove"}, {command.OpCommand, "commands"}}

// usage counts the commands on one collection: for top their number and durations in microseconds by the type of
// operation, for $collStats their latencies by kind and those that scan the collection. Safe for concurrent use.
type usage struct {
	ops                [command.OpTypes]durations
	latencies          [command.Kinds]atomic.Pointer[latencyHistogram] // nil before the first command of the kind
	scans, nonTailable atomic.Int64
}

// usages counts the commands on all collections. Safe for concurrent use.
type usages struct {
	mu sync.RWMutex
	m  map[collection.Namespace]*usage
}

// usagesMax is the maximum number of namespaces that are counted. At the next namespace, of drops all counters. The
// bound is needed because clients can name collections that do not exist, which are counted too.
const usagesMax = 10_000

// of returns the counters of a collection.
func (u *usages) of(ns collection.Namespace) *usage {
	if x := u.lookup(ns); x != nil {
		return x
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.m[ns]
	if x == nil {
		if u.m == nil || len(u.m) >= usagesMax {
			u.m = map[collection.Namespace]*usage{}
		}
		x = &usage{}
		u.m[ns] = x
	}
	return x
}

// lookup returns the counters of a collection, nil if it has none.
func (u *usages) lookup(ns collection.Namespace) *usage {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.m[ns]
}

// add counts a completed command with its duration.
func (x *usage) add(c *command.Call, micros int64) {
	x.ops[c.Def.Op].add(micros)
	h := x.latencies[c.Def.Kind].Load()
	if h == nil {
		x.latencies[c.Def.Kind].CompareAndSwap(nil, &latencyHistogram{})
		h = x.latencies[c.Def.Kind].Load()
	}
	h.add(micros)
	if sol := c.Progress().Plan.Load(); sol != nil && c.Def.Op != command.OpGetMore && sol.ScansCollection() {
		x.scans.Add(1)
		if !c.Body.Get("tailable").Truthy() {
			x.nonTailable.Add(1)
		}
	}
}

// runTop replies with the number of the commands on each existing collection, and their total duration in microseconds.
// Unknown arguments are ignored. Manual: reference/command/top.
func (s *State) runTop(c *command.Call) error {
	b := c.Reply
	b.BeginDoc("totals")
	b.String("note", "all times in microseconds")
	snap := c.Cluster.Catalog()
	u := &s.usage
	u.mu.RLock()
	defer u.mu.RUnlock()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			x := u.m[coll.Namespace]
			if x == nil {
				x = &usage{}
			}
			b.BeginDoc(coll.Namespace.String())
			x.append(b)
			b.End()
		}
	}
	b.End()
	return nil
}

// append appends the counters of a collection in the order of top: first the sums of all, of reads with commands, and
// of writes, then each type of operation.
func (u *usage) append(b *bson.Builder) {
	var micros, count [command.OpTypes]int64
	for k := range u.ops {
		micros[k], count[k] = u.ops[k].micros.Load(), u.ops[k].count.Load()
	}
	entry := func(name string, ops ...command.OpType) {
		var t, n int64
		for _, k := range ops {
			t, n = t+micros[k], n+count[k]
		}
		b.BeginDoc(name)
		b.Int64("time", t)
		b.Int64("count", n)
		b.End()
	}
	entry("total", command.OpQuery, command.OpGetMore, command.OpInsert, command.OpUpdate, command.OpRemove, command.OpCommand)
	entry("readLock", command.OpQuery, command.OpGetMore, command.OpCommand)
	entry("writeLock", command.OpInsert, command.OpUpdate, command.OpRemove)
	for _, f := range usageNames {
		entry(f.name, f.of)
	}
}
