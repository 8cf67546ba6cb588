package tikvkv

import (
	"math"
	"sync/atomic"
)

// inflightCommit is the entry of an in-flight commit in the tail of the log. The tail holds for it a timestamp that
// its commit time is certainly after, so that readers of the log wait only for commits that may come before what they
// read. The client fetches the commit time when all prewrites have been answered: while a prewrite is in flight, the
// commit time is after every timestamp seen, also after those seen later. When the commit request is sent, the commit
// time is fixed.
type inflightCommit struct {
	log       *changeLog
	id        uint64 // ID in the tail; 0 = not in the tail
	logs      []keyValue
	prewrites atomic.Int64 // prewrites in flight
}

// beginInflight adds a commit with the log records logs to the in-flight commits of the tail, before its commit time
// is fetched, and returns its entry. If the commit has no log records, or lease.exclusive is false, the entry is not in the tail.
func (l *changeLog) beginInflight(logs []keyValue) *inflightCommit {
	p := &inflightCommit{log: l, logs: logs}
	if len(logs) > 0 && l.lease.exclusive() {
		p.id = l.tail.addInflight(l.oracle.maxSeenTS.Load())
	}
	return p
}

// beginPrewrite counts a prewrite request of the commit that is sent, endPrewrite one that was answered. While one is
// in flight, the commit time has not been fetched, and readers of the log do not wait for the commit. With one-phase
// or asynchronous commit, TiKV chooses the commit time during the prewrites, so both only count.
func (p *inflightCommit) beginPrewrite() {
	if p.prewrites.Add(1) == 1 && !p.log.o.AsyncCommit && !p.log.o.OnePhase {
		p.log.tail.updateInflight(p.id, func() uint64 {
			if p.prewrites.Load() == 0 {
				return p.log.oracle.maxSeenTS.Load()
			}
			return math.MaxUint64
		})
	}
}

func (p *inflightCommit) endPrewrite() {
	if p.prewrites.Add(-1) == 0 && !p.log.o.AsyncCommit && !p.log.o.OnePhase {
		p.log.tail.updateInflight(p.id, func() uint64 {
			if p.prewrites.Load() > 0 {
				return math.MaxUint64
			}
			return p.log.oracle.maxSeenTS.Load()
		})
	}
}

// setCommitTS stores in the tail that the commit request is sent with the commit time ts: readers of the log up to an
// earlier timestamp need not wait for the commit.
func (p *inflightCommit) setCommitTS(ts uint64) {
	p.log.tail.updateInflight(p.id, func() uint64 { return ts - 1 })
}

// end removes the commit from the in-flight commits of the tail, adds its log records to the tail at the commit time
// ts, and wakes waiting readers; 0 = nothing was committed.
func (p *inflightCommit) end(ts uint64) { p.log.tail.endInflight(p.id, ts, p.logs) }
