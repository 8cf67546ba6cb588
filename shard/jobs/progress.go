package jobs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Progress is one running job.
type Progress struct {
	id      uint64
	kind    string
	ns      collection.Namespace
	command bson.Raw
	started time.Time
	done    atomic.Int64
	total   atomic.Int64
	phase   atomic.Pointer[string]
	applied atomic.Int64
}

// enter sets the phase of the job.
func (p *Progress) enter(phase string) { p.phase.Store(&phase) }

// Report is a Progress as currentOp prints it.
type Report struct {
	ID          uint64
	Kind        string // "Index Build", "Split", "Merge", "Move Collection", "Compact", or that of a Reshard
	Namespace   collection.Namespace
	Command     bson.Raw // the client's command, nil for background work
	Started     time.Time
	Done, Total int64         // documents; bytes of a Compact
	Left        time.Duration // estimated; 0 = unknown
	Phase       string        // the current phase of a job with several
	Applied     int64         // documents changed during the copy of a Reshard that were copied again
	Server      string        // the server that runs it, "" for this one
	server      string        // the server that runs it, also for this one
}

// Percent returns the completed part, 0 to 100.
func (p Report) Percent() int64 {
	if p.Total <= 0 {
		return 0
	}
	return min(100, p.Done*100/p.Total)
}

// registry lists the running jobs.
type registry struct {
	mu   sync.Mutex
	next uint64
	jobs []*Progress
}

// begin registers a job; the caller ends it with end.
func (r *Runner) begin(kind string, ns collection.Namespace, command bson.Raw, total int64) *Progress {
	g := &r.progress
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	p := &Progress{id: g.next, kind: kind, ns: ns, command: command.Clone(), started: r.Now()}
	p.total.Store(total)
	g.jobs = append(g.jobs, p)
	return p
}

func (r *Runner) end(p *Progress) {
	g := &r.progress
	g.mu.Lock()
	defer g.mu.Unlock()
	g.jobs = slices.DeleteFunc(g.jobs, func(q *Progress) bool { return p == q })
}

// InProgress lists the running jobs, oldest first, then those of peers.
func (r *Runner) InProgress() []Report {
	now := r.Now()
	g := &r.progress
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]Report, 0, len(g.jobs))
	for _, p := range g.jobs {
		n := Report{server: r.Self, ID: p.id, Kind: p.kind, Namespace: p.ns, Command: p.command, Started: p.started,
			Done: p.done.Load(), Total: p.total.Load()}
		n.Total = max(n.Total, n.Done)
		if at := p.phase.Load(); at != nil {
			n.Phase, n.Applied = *at, p.applied.Load()
		}
		if spent := now.Sub(p.started); n.Done > 0 && spent > 0 {
			n.Left = time.Duration(float64(spent) / float64(n.Done) * float64(n.Total-n.Done))
		}
		out = append(out, n)
	}
	r.peerJobs.mu.Lock()
	defer r.peerJobs.mu.Unlock()
	for _, p := range r.peerJobs.list {
		out = append(out, p)
	}
	return out
}
