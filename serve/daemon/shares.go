package daemon

import (
	"fmt"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command/status"
)

// memoryShares divides the memory of the process. The block cache and the memtables (an eighth and four
// sixty-fourths) lie outside of Go's heap unless cacheInHeap; the rest of the heap gets one half. A quarter is
// working memory, which clients can make the server hold:
//
//	work ─┬─ queries   of sorts, groups, joins and similar stages; they spill, or fail
//	      ├─ messages  large incoming messages; they wait for memory
//	      ├─ replies   large outgoing replies; batches get smaller
//	      ├─ writes    uncommitted writes; they fail
//	      ├─ sessions  logical sessions; no more are made
//	      ├─ users     users and roles; no more are made
//	      └─ catalog   collections, indexes, partitions; no more are made
//
// The maximum of each is a part of the working memory, from an eighth to three quarters, so that none can use it up.
type memoryShares struct {
	work, queries, messages, replies, writes, sessions, users, catalog *ratelimit.Memory
	// cursors is the limit of the memory of idle cursors, in bytes. Cursors whose query sorted also hold memory of
	// queries.
	cursors int64
	// results is the limit of retryable write records of all sessions, in bytes.
	results int64
	// cache is the size of the block cache, memtable that of one memtable, in bytes.
	cache, memtable int64
	// txnBytes is the maximum of the writes of one transaction, in bytes; conns is the default of the maximum number
	// of connections.
	txnBytes, conns int
}

// memtables is the maximum number of memtables.
const memtables = 4

// workMin is the least working memory in bytes: twice the maximum size of a document.
const workMin = 32 << 20

// newMemoryShares divides total bytes of memory. work is the working memory in bytes, the value of --work-memory; 0
// means a quarter of total. It is at least workMin.
func newMemoryShares(total, work int64) memoryShares {
	if work == 0 {
		work = total / 4
	}
	work = max(work, workMin)
	all := ratelimit.NewMemory(work)
	return memoryShares{
		work: all, queries: all.Part(work / 4 * 3), messages: all.Part(work / 2), replies: all.Part(work / 2), writes: all.Part(work / 4 * 3),
		sessions: all.Part(work / 8), users: all.Part(work / 8), catalog: all.Part(work / 4),
		cursors:  work / 4,
		results:  min(64<<20, work/8),
		cache:    min(max(total/8, 8<<20), 1<<30),
		memtable: min(max(total/64, 1<<20), 32<<20),
		txnBytes: int(min(256<<20, work/2)),
		conns:    int(min(65536, max(1024, total/(128<<10)))),
	}
}

// divideMemory divides the memory of the process by the setting --work-memory, and derives the default of
// --max-connections.
// Errors: a text that is not a size.
func (d *Daemon) divideMemory() error {
	work := int64(0)
	if s := d.cfg.WorkMemory; s != "" {
		var err error
		if work, err = parseSize(s); err != nil {
			return fmt.Errorf("--work-memory: %w", err)
		}
	}
	d.shares = newMemoryShares(memoryBytes(), work)
	if d.cfg.MaxConns == 0 {
		d.cfg.MaxConns = d.shares.conns
	}
	return nil
}

// list returns the shares with their names, for serverStatus.
func (s *memoryShares) list() []status.MemoryShare {
	return []status.MemoryShare{
		{Name: "total", Memory: s.work}, {Name: "queries", Memory: s.queries}, {Name: "messages", Memory: s.messages},
		{Name: "replies", Memory: s.replies}, {Name: "writes", Memory: s.writes},
		{Name: "sessions", Memory: s.sessions}, {Name: "users", Memory: s.users},
		{Name: "catalog", Memory: s.catalog},
	}
}

// warnOver logs a warning if the data read at the start exceeds its share of the working memory, as when an earlier
// release let the data grow, or the machine had more memory.
func (d *Daemon) warnOver(what string, share *ratelimit.Memory) {
	if s := share.Stats(); s.Used > s.Max {
		d.log.Warn().Int64("bytes", s.Used).Int64("most", s.Max).Msg(what + " take more memory than they may; until some are dropped none can be added, and there is less for all else")
	}
}
