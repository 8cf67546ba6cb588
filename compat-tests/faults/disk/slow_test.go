package disk

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// gate delays syncs of files: each takes a while, and syncs of the log also wait while the gate is shut.
type gate struct {
	takes atomic.Int64 // nanoseconds

	mu    sync.Mutex
	shut  chan struct{} // nil = open
	meets chan struct{} // closed when the first sync waits
}

// pass is called for every file operation.
func (g *gate) pass(op errorfs.Op) error {
	if op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData && op.Kind != errorfs.OpFileSyncTo {
		return nil
	}
	time.Sleep(time.Duration(g.takes.Load()))
	g.mu.Lock()
	shut := g.shut
	if shut != nil && strings.HasSuffix(op.Path, ".log") {
		select {
		case <-g.meets:
		default:
			close(g.meets)
		}
	} else {
		shut = nil
	}
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
	return nil
}

// close makes syncs of the log wait until open; the returned channel is closed when the first sync waits.
func (g *gate) close() (meets chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.meets = make(chan struct{}), make(chan struct{})
	return g.meets
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

// slowDisk returns a hardship in which every sync takes longer by a duration: all results must be right, and a
// very slow disk must be reported.
func slowDisk(by time.Duration) func(h *hardship) {
	return func(h *hardship) {
		g := &gate{}
		g.takes.Store(int64(by))
		m := h.boot(g.pass, -1)
		for _, s := range writes(h.rng, "shop.orders", 1000, 4, 150) {
			h.must(m, s)
		}
		h.must(m, index("shop.orders", "slow", bson.D{{Key: "k", Value: int32(1)}, {Key: "v", Value: int32(1)}}))
		stats := m.store.Metrics()
		if stats.Syncs == 0 || stats.SyncTime < by*time.Duration(stats.Syncs) {
			h.Errorf("%d syncs took %v", stats.Syncs, stats.SyncTime)
		}
		if slow := by >= 500*time.Millisecond; slow && (stats.SlowSyncs == 0 || !strings.Contains(m.log.String(), "the disk is slow")) {
			h.Errorf("%d slow syncs, and the log says %q", stats.SlowSyncs, m.log.String())
		}
		g.takes.Store(0)
		h.end(m)
	}
}

// stuckDisk blocks a sync of the log while other clients work. Reads must not be held up, and a write with a time
// limit must end in time, with an error that its durability is not known. Once the disk continues, all data are
// there.
func stuckDisk(h *hardship) {
	g := &gate{}
	m := h.boot(g.pass, -1)
	h.some(m, 1000)
	meets := g.close()
	var group sync.WaitGroup
	writer := &client{machine: m}
	first := insert("shop.items", document(h.rng, 7000, 1, 50))
	group.Go(func() {
		defer writer.hangUp()
		if err := first.do(writer); err != nil {
			h.Errorf("the write that waits: %v", err)
		}
	})
	<-meets
	for i := range 50 {
		docs, err := m.all("shop", bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: int32(i % baseDocs)}}}})
		if err != nil || len(docs) > 1 {
			h.Errorf("a read while a sync does not end: %v, %v", docs, err)
		}
	}
	limited := document(h.rng, 7001, 1, 50)
	reply, err := m.run("shop", bson.D{{Key: "insert", Value: "items"}, {Key: "documents", Value: bson.A{limited}}, {Key: "maxTimeMS", Value: int32(200)}})
	if code := reply.Lookup("writeConcernError", "code").AsInt64(); err == nil || code != 50 || reply.Lookup("n").AsInt64() != 1 {
		h.Errorf("a write with a time limit: %s, %v", reply, err)
	}
	g.open()
	group.Wait()
	h.held.apply(first.changes)
	h.held.apply([]change{held("shop.items", limited)})
	h.some(m, 2000)
	h.end(m)
}
