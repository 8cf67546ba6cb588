package tikvkv

import (
	"math"
	"sync/atomic"
)

// inflightCommit is an in-flight commit as the tail sees it. Its commit time is fetched when all its prewrites have
// been answered: while a prewrite is in flight, the commit time will be after every timestamp seen, also
// after those seen later. When the commit request is sent, the commit time is known.
type inflightCommit struct {
	log       *changeLog
	id        uint64 // ID in the tail, 0 for a commit without log records
	logs      []keyValue
	prewrites atomic.Int64 // prewrites in flight
}

// beginInflight enters a commit as in flight, before its commit time is fetched.
func (l *changeLog) beginInflight(logs []keyValue) *inflightCommit {
	p := &inflightCommit{log: l, logs: logs}
	if len(logs) > 0 && l.lease.exclusive() {
		p.id = l.tail.addInflight(l.oracle.maxSeenTS.Load())
	}
	return p
}

// beginPrewrite notes that a prewrite is sent, prewritten that it was answered. With one-phase or asynchronous
// commit, TiKV chooses the commit time during the prewrites, so both do nothing.
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

// setCommitTS notes the commit time with which the commit request is sent.
func (p *inflightCommit) setCommitTS(ts uint64) {
	p.log.tail.updateInflight(p.id, func() uint64 { return ts - 1 })
}

// end ends the in-flight commit with its commit time, or with 0 if nothing was committed.
func (p *inflightCommit) end(ts uint64) { p.log.tail.endInflight(p.id, ts, p.logs) }
