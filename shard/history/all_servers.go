package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/storage"
)

// AllServers is the history of all servers over a store. Each server records only its own work. A read of
// Lines or Heats calls all live peers, adds the stored histories of the latest dead servers, and reports the peers that
// did not answer. For a server alone it is the server's own history.
//
// All values are summed, except latencies, the provisioned throughput and the busiest partition's use of its
// share, for which the maximum counts. Columns are those of this server; a peer whose clock is behind may
// not have filled the newest yet.
type AllServers struct {
	local *Recorder
	calls *peers.Calls

	mu            sync.Mutex
	deadHistories []*Recorder // of dead servers
	deadReadAt    int64       // the second in which they were last read; 0 = never
}

// NewAllServers makes the history of this server and of the peers that calls reaches.
func NewAllServers(own *Recorder, calls *peers.Calls) *AllServers {
	e := &AllServers{local: own, calls: calls}
	calls.Handle(kind, e.handle)
	return e
}

// kind is the name of the calls between servers.
const kind = "history"

// request is the request of a call.
type request struct {
	Level     int
	Metrics   []Metric // of Heats; none for Lines
	Namespace string
	From, To  int64
	Shapes    *ShapeQuery `json:",omitempty"` // neither Lines nor Heats, but Shapes
}

// reply is the response to a call.
type reply struct {
	Lines  *Lines     `json:",omitempty"`
	Heats  []Heat     `json:",omitempty"`
	Shapes *ShapeSums `json:",omitempty"`
	Sorts  [][]byte   // the Sort of each row's Part, in order, because it need not be text
}

// replyTo computes the reply of a Recorder to a request.
func (r *Recorder) replyTo(q request) reply {
	if q.Shapes != nil {
		sums := r.Shapes(*q.Shapes)
		return reply{Shapes: &sums}
	}
	if len(q.Metrics) == 0 {
		l := r.Lines(q.Level, q.From, q.To)
		return reply{Lines: &l}
	}
	return reply{Heats: r.Heats(q.Level, q.Namespace, q.From, q.To, q.Metrics...)}
}

// rows visits the rows of all heats.
func (a *reply) rows(visit func(i int, r *HeatRow)) (n int) {
	for h := range a.Heats {
		for i := range a.Heats[h].Rows {
			visit(n, &a.Heats[h].Rows[i])
			n++
		}
	}
	return n
}

// handle handles a call of a peer.
func (e *AllServers) handle(ctx context.Context, body []byte) ([]byte, error) {
	var q request
	if err := json.Unmarshal(body, &q); err != nil || q.Level < 0 || q.Level >= levelCount || len(q.Metrics) > int(metricCount) ||
		slices.ContainsFunc(q.Metrics, func(m Metric) bool { return m >= metricCount }) || q.Shapes != nil && !q.Shapes.valid() {
		return nil, fmt.Errorf("the question about the history cannot be read: %w", storage.ErrCorruption)
	}
	if err := e.local.dropTakenOver(ctx); err != nil {
		return nil, err
	}
	a := e.local.replyTo(q)
	a.rows(func(_ int, r *HeatRow) { a.Sorts = append(a.Sorts, []byte(r.Part.Sort)) })
	return json.Marshal(a)
}

// readReply decodes the reply of a peer to q; ok is false if it has another form, as that of a peer of another
// release.
func readReply(body []byte, q request) (a reply, ok bool) {
	if json.Unmarshal(body, &a) != nil || len(a.Heats) != len(q.Metrics) || (a.Shapes == nil) != (q.Shapes == nil) ||
		(a.Lines == nil) != (len(q.Metrics) > 0 || q.Shapes != nil) {
		return a, false
	}
	ok = true
	n := a.rows(func(i int, r *HeatRow) {
		if ok = ok && r.Part != nil && i < len(a.Sorts); ok {
			r.Part.Sort = string(a.Sorts[i])
		}
	})
	return a, ok && n == len(a.Sorts)
}

// parts returns the parts of the history for a request that other servers hold: the replies of live peers, and the
// histories of dead servers. unreachable lists the peers without a usable reply. Errors: the errors of the store,
// ctx.Err().
func (e *AllServers) parts(ctx context.Context, q request) (list []reply, unreachable []string, err error) {
	if err := e.local.dropTakenOver(ctx); err != nil {
		return nil, nil, err
	}
	for _, past := range e.deadServerHistories(ctx) {
		list = append(list, past.replyTo(q))
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, nil, err
	}
	answers, unreachable, err := e.calls.Call(ctx, kind, body)
	for _, a := range answers {
		if r, ok := readReply(a.Body, q); ok {
			list = append(list, r)
		} else {
			unreachable = append(unreachable, a.Host) // a peer of another release
		}
	}
	return list, unreachable, err
}

// deadReadSeconds is the interval at which the histories of dead servers are read again, while clients read the
// history.
const deadReadSeconds = 10

// deadServerHistories returns the histories of dead servers, without those that a live server has taken over meanwhile;
// none, after a call of Failed, if they cannot be read.
func (e *AllServers) deadServerHistories(ctx context.Context) []*Recorder {
	if e.local.Store == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now, err := e.local.Now().Unix(), error(nil)
	if e.deadReadAt == 0 || now-e.deadReadAt >= deadReadSeconds {
		if e.deadHistories, err = e.local.readDeadHistories(ctx); err == nil {
			e.deadReadAt = now
		}
	} else {
		e.deadHistories, err = stillDead(ctx, e.local.Store, e.deadHistories)
	}
	if err != nil {
		e.local.Failed(fmt.Errorf("the history of servers that are gone cannot be read: %w", err))
	}
	return e.deadHistories
}

// Lines returns the totals of all servers, as Recorder.Lines does for one; unreachable lists the peers whose part is
// missing.
// Errors: the errors of the store, ctx.Err().
func (e *AllServers) Lines(ctx context.Context, level int, from, to int64) (l Lines, unreachable []string, err error) {
	list, unreachable, err := e.parts(ctx, request{Level: level, From: from, To: to})
	l = e.local.Lines(level, from, to)
	for _, o := range list {
		l.add(o.Lines)
	}
	return l, unreachable, err
}

// Heats returns several metrics of the partitions at all servers, as Recorder.Heats does for one; all have the same
// rows. unreachable lists the peers whose part is missing.
func (e *AllServers) Heats(ctx context.Context, level int, namespace string, from, to int64, metrics ...Metric) (list []Heat, unreachable []string, err error) {
	parts, unreachable, err := e.parts(ctx, request{Level: level, Metrics: metrics, Namespace: namespace, From: from, To: to})
	list = e.local.Heats(level, namespace, from, to, metrics...)
	for _, o := range parts {
		for i := range list {
			list[i].add(&o.Heats[i], metrics[i])
		}
	}
	return list, unreachable, err
}

// Heat returns one metric of the partitions at all servers; see Heats.
func (e *AllServers) Heat(ctx context.Context, level int, m Metric, namespace string, from, to int64) (h Heat, unreachable []string, err error) {
	list, unreachable, err := e.Heats(ctx, level, namespace, from, to, m)
	return list[0], unreachable, err
}

// Shapes returns the work of shapes at all servers, as Recorder.Shapes does for one; unreachable lists the peers whose
// part is missing. Errors: the errors of the store, ctx.Err().
func (e *AllServers) Shapes(ctx context.Context, q ShapeQuery) (s ShapeSums, unreachable []string, err error) {
	list, unreachable, err := e.parts(ctx, request{Shapes: &q})
	s = e.local.Shapes(q)
	for _, o := range list {
		s.add(o.Shapes)
	}
	return s, unreachable, err
}

// ShapeSteps is Recorder.ShapeSteps.
func (e *AllServers) ShapeSteps(from, to int64) ShapeQuery { return e.local.ShapeSteps(from, to) }

// Events returns the events that this server has recorded: every server sees all changes of the catalog while it
// lives.
func (e *AllServers) Events(namespace string, from, to int64) []Event {
	return e.local.Events(namespace, from, to)
}

// Second is Recorder.Second.
func (e *AllServers) Second() int64 { return e.local.Second() }
