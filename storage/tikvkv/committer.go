package tikvkv

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage/writebuf"
)

// committer begins and commits transactions: latches, two-phase commit under a fence, and the search for
// the outcome of commits without an answer.
type committer struct {
	*settings
	life      *lifecycle
	cluster   *cluster
	oracle    *oracle
	lease     *lease
	snapshots *snapshots
	cached    *cachedTS
	rows      *rows
	log       *changeLog
	txnConfig writebuf.Config

	slow    atomic.Int64 // time until which all commits have the long window, in nanoseconds since 1970
	commits atomic.Int64
	refused atomic.Int64 // commits refused with a conflict
	late    atomic.Int64 // commits that the fence refused
	settled atomic.Int64 // commits whose outcome had to be looked up
}

// newCommitter returns the committer of a keyspace.
func newCommitter(r *rows, life *lifecycle, cached *cachedTS, log *changeLog) *committer {
	return &committer{
		settings: r.settings, life: life, cluster: r.cluster, oracle: r.oracle, lease: r.lease, snapshots: r.snapshots, cached: cached, rows: r, log: log,
		txnConfig: writebuf.Config{
			Bounds:  writebuf.Bounds{Key: keyBytesMax, Value: r.o.ValueBytesMax, Txn: r.o.TxnBytesMax, Copies: 2}, // two copies of a write: the client buffers its own
			Memory:  r.o.TxnMemory,
			Latches: writebuf.NewLatches(),
		},
	}
}

// slowFor is the time for which all commits are of the large class, with its longer window, after the fence has
// refused one as too late. So a retry can succeed while the cluster is slow. In return, readers of the log list more
// keys meanwhile.
const slowFor = 10 * time.Second

// classOf returns the class of a commit, which determines its window: large if the commit has more than largeBytes
// bytes or largeKeys keys, or if another commit was refused as too late during the last slowFor.
func (m *committer) classOf(b *writebuf.Buffer) byte {
	if b.Bytes() > largeBytes || b.Len() > largeKeys || m.o.Clock().UnixNano() < m.slow.Load() {
		return classLarge
	}
	return classSmall
}

// finish ends an in-flight commit. If ts, its commit time, is 0, nothing was committed; otherwise finish adds the log
// records of the commit to the log in memory, counts the commit, and wakes readers.
func (m *committer) finish(p *inflightCommit, ts uint64) {
	p.end(ts)
	if ts == 0 {
		return
	}
	m.oracle.observeTS(ts)
	m.commits.Add(1)
	m.log.committed(ts, p.logs)
}
