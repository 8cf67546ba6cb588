package status

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// usageNames are the types of operations in the reply of top and their field names, in its order.
var usageNames = [...]struct {
	of   command.OpType
	name string
}{{command.OpQuery, "queries"}, {command.OpGetMore, "getmore"}, {command.OpInsert, "insert"}, {command.OpUpdate, "update"}, {command.OpRemove, "remove"}, {command.OpCommand, "commands"}}

// usage counts the commands on one collection, and their durations in microseconds, by the type of operation.
type usage [command.OpTypes]struct{ micros, count atomic.Int64 }

// usages counts the commands on all collections. Safe for concurrent use.
type usages struct {
	mu sync.RWMutex
	m  map[collection.Namespace]*usage
}

// usagesMax is the maximum number of namespaces that top counts. At the next namespace, add drops all counters. The
// bound is needed because clients can name collections that do not exist, which are counted too.
const usagesMax = 10_000

// add counts a command.
func (u *usages) add(ns collection.Namespace, op command.OpType, d time.Duration) {
	u.mu.RLock()
	x := u.m[ns]
	u.mu.RUnlock()
	if x == nil {
		u.mu.Lock()
		if x = u.m[ns]; x == nil {
			if u.m == nil || len(u.m) >= usagesMax {
				u.m = map[collection.Namespace]*usage{}
			}
			x = &usage{}
			u.m[ns] = x
		}
		u.mu.Unlock()
	}
	x[op].count.Add(1)
	x[op].micros.Add(max(d.Microseconds(), 1))
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
	for k := range u {
		micros[k], count[k] = u[k].micros.Load(), u[k].count.Load()
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
