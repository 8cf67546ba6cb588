package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/history"
)

// frame is the message that a viewer receives every second.
type frame struct {
	Second int64          `json:"second"` // the second that has just ended
	Lines  *linesReply    `json:"lines"`  // of the seconds since the frame before
	Hot    []hotPartition `json:"hot"`    // the busiest partitions
	Events []event        `json:"events"`
}

// hotPartition holds the load of a partition in the last second.
type hotPartition struct {
	NS        string  `json:"ns"`
	Partition int     `json:"partition"`
	RU        float64 `json:"ru"`
	Share     float64 `json:"share"` // of the RU of all partitions
}

const (
	hotMax        = 5
	frameTime     = 10 * time.Second // a viewer that has not accepted a frame after this time is disconnected
	keepAliveTime = 15 * time.Second // a viewer that has received nothing for this time is sent a comment line that keeps the stream open
)

// live serves a stream of server-sent events: a frame every second.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	q := &query{Console: c, Request: r, w: w}
	var err error
	if q.conn, err = c.open(r); err == nil {
		err = q.mayLoad()
		q.conn.hangUp()
	}
	if err != nil {
		failed(w, err)
		return
	}
	select {
	case c.viewers <- struct{}{}:
		defer func() { <-c.viewers }()
	default:
		fail(w, http.StatusServiceUnavailable, mongoerr.New(mongoerr.BadValue, "%d live streams are open, which is the maximum", viewersMax))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	ended, tick := c.sessions.ended(), time.NewTicker(time.Second)
	defer tick.Stop()
	last, said := c.History.Second()-1, time.Now()
	until := said.Add(sessionLife) // then the browser connects again, and may have to log in
	for {
		second := c.History.Second()
		text := ""
		if second > last {
			f, err := c.frames.get(r.Context(), last, second, c.frame)
			if err != nil {
				return
			}
			body, err := json.Marshal(f)
			if err != nil {
				return
			}
			text, last = fmt.Sprintf("id: %d\ndata: %s\n\n", second-1, body), second
		} else if time.Since(said) > keepAliveTime {
			text = ": alive\n\n"
		}
		if text != "" {
			if q.recheckAccess() != nil {
				return
			}
			said = time.Now()
			_ = out.SetWriteDeadline(said.Add(frameTime))
			if _, err := w.Write([]byte(text)); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			return
		case <-r.Context().Done():
			return
		}
		if time.Now().After(until) || q.recheckAccess() != nil {
			return
		}
	}
}

// recheckAccess refuses to continue a live stream if the login of its user has ended, the user was dropped or given
// another password, or may no longer see the load. It costs one map look-up as long as users and roles do not change.
// Errors: Unauthorized (13), as the errors of open.
func (q *query) recheckAccess() error {
	if !q.Server.RequireAuth {
		return nil
	}
	if _, _, basic := q.BasicAuth(); !basic && q.sessions.find(q.Request, time.Now()) == nil {
		return errNoLogin
	}
	if q.conn.login().Version == q.Server.Auth.Version() {
		return nil
	}
	in, err := q.reopen(q.Request, q.conn)
	if err != nil {
		return err
	}
	in.hangUp()
	q.conn = in
	return q.mayLoad()
}

// frames holds the newest frame of the live stream, which all viewers share: with peers, the data of a frame takes a
// call to all of them, so it is fetched once.
type frames struct {
	mu       sync.Mutex
	from, to int64
	newest   *frame
}

// get returns the frame of the live stream for the seconds [from, to) since 1970. If the newest frame has another
// range, get calls make for a new one and keeps it, so that viewers of the same seconds share one frame.
// Errors: the errors of make.
func (x *frames) get(ctx context.Context, from, to int64, make func(ctx context.Context, from, to int64) (*frame, error)) (*frame, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.newest != nil && x.from == from && x.to == to {
		return x.newest, nil
	}
	f, err := make(ctx, from, to)
	if err == nil {
		x.from, x.to, x.newest = from, to, f
	}
	return f, err
}

// sum returns the sum of cells of one second each.
func sum(cells []byte) (all float64) {
	for _, c := range cells {
		all += history.Value(c)
	}
	return all
}

// frame returns the events and loads of a range of seconds.
func (c *Console) frame(ctx context.Context, from, to int64) (*frame, error) {
	l, unreachable, err := c.History.Lines(ctx, history.Seconds, from, to)
	if err != nil {
		return nil, err
	}
	h, _, err := c.History.Heat(ctx, history.Seconds, history.RU, "", to-1, to)
	if err != nil {
		return nil, err
	}
	f := &frame{Second: to - 1, Lines: newLines(l), Hot: []hotPartition{}, Events: newEvents(c.History.Events("", from, to))}
	f.Lines.Incomplete = unreachable
	all := 0.0
	for i := range h.Rows {
		if v := sum(h.Rows[i].Cells); v > 0 {
			all += v
			f.Hot = append(f.Hot, hotPartition{NS: h.Rows[i].Part.Namespace, Partition: h.Rows[i].Part.Place.Shard, RU: v})
		}
	}
	slices.SortStableFunc(f.Hot, func(a, b hotPartition) int {
		switch {
		case a.RU > b.RU:
			return -1
		case a.RU < b.RU:
			return 1
		}
		return 0
	})
	f.Hot = f.Hot[:min(len(f.Hot), hotMax)]
	for i := range f.Hot {
		f.Hot[i].Share = f.Hot[i].RU / all
	}
	return f, nil
}
