package command

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// usageKind is what a command did to a collection, as top counts it.
type usageKind uint8

// The kinds, in the order of the reply after total, readLock and writeLock.
const (
	usedQueries usageKind = iota
	usedGetMore
	usedInsert
	usedUpdate
	usedRemove
	usedCommands
	usageKinds
)

// usageNames are the fields of top.
var usageNames = [usageKinds]string{"queries", "getmore", "insert", "update", "remove", "commands"}

// usage counts the commands on one collection.
type usage [usageKinds]struct{ micros, count atomic.Int64 }

// usages counts the commands on all collections. Safe for concurrent use.
type usages struct {
	mu sync.RWMutex
	m  map[collection.Namespace]*usage
}

// usagesMax bounds the namespaces that are counted: names of collections that
// do not exist are counted too.
const usagesMax = 10_000

// add counts a command.
func (u *usages) add(ns collection.Namespace, command string, d time.Duration) {
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
	k := usedCommands
	switch command {
	case "find":
		k = usedQueries
	case "getMore":
		k = usedGetMore
	case "insert":
		k = usedInsert
	case "update":
		k = usedUpdate
	case "delete":
		k = usedRemove
	}
	x[k].count.Add(1)
	x[k].micros.Add(max(d.Microseconds(), 1))
}

// runTop tells how long the commands on each collection took. Unknown arguments
// are ignored. Manual: reference/command/top.
func runTop(c *Call) error {
	b := c.Reply
	b.BeginDoc("totals")
	b.String("note", "all times in microseconds")
	snap := c.Cluster.Catalog.Peek()
	u := &c.usage
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

// append writes the counters: reads and writes together first, then each kind.
func (u *usage) append(b *bson.Builder) {
	var micros, count [usageKinds]int64
	for k := range u {
		micros[k], count[k] = u[k].micros.Load(), u[k].count.Load()
	}
	entry := func(name string, kinds ...usageKind) {
		var t, n int64
		for _, k := range kinds {
			t, n = t+micros[k], n+count[k]
		}
		b.BeginDoc(name)
		b.Int64("time", t)
		b.Int64("count", n)
		b.End()
	}
	entry("total", usedQueries, usedGetMore, usedInsert, usedUpdate, usedRemove, usedCommands)
	entry("readLock", usedQueries, usedGetMore, usedCommands)
	entry("writeLock", usedInsert, usedUpdate, usedRemove)
	for k := range u {
		entry(usageNames[k], usageKind(k))
	}
}
