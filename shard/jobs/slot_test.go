package jobs_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage/memkv"
)

// An index build and a reshard take a processor slot when they have computed for a while, as commands do, and hold none
// when they have ended.
func TestJobsTakeSlots(t *testing.T) {
	n := start(t, memkv.Open(memkv.Options{}))
	defer n.store.Close()
	n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 2}))
	n.fill(0, 2000)
	var now, taken atomic.Int64
	clock := func() time.Time { return time.Unix(0, now.Add(int64(time.Millisecond))) }
	p := mql.NewCPUSlots(1, clock, func(func() bool) { taken.Add(1) })
	n.jobs.CPUSlots = p
	for name, job := range map[string]func() error{
		"a build": func() error { _, err := n.index(`{key: {a: 1}, name: "a"}`); return err },
		"a reshard": func() error {
			return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{u: "hashed"}`), Shards: 2})
		},
	} {
		taken.Store(0)
		n.must(job())
		if taken.Load() == 0 {
			t.Errorf("%s took no lane", name)
		}
		if p.Interruptible.InUse() != 0 {
			t.Errorf("%s has kept its lane", name)
		}
	}
}
