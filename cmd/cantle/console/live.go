package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/history"
)

// frame is what a viewer is sent every second.
type frame struct {
	Second int64       `json:"second"` // the one that has just ended
	Lines  *linesReply `json:"lines"`  // of the seconds since the frame before
	Hot    []hotNow    `json:"hot"`    // the busiest partitions
	Events []event     `json:"events"`
}

// hotNow is a partition and what it did in the last second.
type hotNow struct {
	NS        string  `json:"ns"`
	Partition int     `json:"partition"`
	RU        float64 `json:"ru"`
	Share     float64 `json:"share"` // of the RU of all partitions
}

const (
	hotMax    = 5
	frameTime = 10 * time.Second // a viewer that takes no frame for so long is cut off
	aliveTime = 15 * time.Second // without anything new a viewer is told that the server lives
)

// live answers server-sent events: a frame every second.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	q := &query{Console: c, Request: r, w: w}
	var err error
	if q.in, err = c.open(r); err == nil {
		err = q.mayLoad()
		q.in.hangUp()
	}
	if err != nil {
		failed(w, err)
		return
	}
	select {
	case c.viewers <- struct{}{}:
		defer func() { <-c.viewers }()
	default:
		fail(w, http.StatusServiceUnavailable, mongoerr.New(mongoerr.BadValue, "%d live streams are open, no more are served", viewersMax))
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
	until := said.Add(sessionLife) // then the browser asks again, and may have to log in
	for {
		second := c.History.Second()
		text := ""
		if second > last {
			body, err := json.Marshal(c.frame(last, second))
			if err != nil {
				return
			}
			text, last = fmt.Sprintf("id: %d\ndata: %s\n\n", second-1, body), second
		} else if time.Since(said) > aliveTime {
			text = ": alive\n\n"
		}
		if text != "" {
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
		if c.Server.RequireAuth && c.sessions.of(r, time.Now()) == nil && r.Header.Get("Authorization") == "" || time.Now().After(until) {
			return // logged out
		}
	}
}

// frame is what happened from one second to another.
func (c *Console) frame(from, to int64) *frame {
	f := &frame{Second: to - 1, Lines: newLines(c.History.Lines(history.Seconds, from, to)), Hot: []hotNow{}, Events: newEvents(c.History.Events("", from, to))}
	h := c.History.Heat(history.Seconds, history.RU, "", to-1, to)
	all := 0.0
	for i := range h.Rows {
		if v := sum(h.Rows[i].Cells); v > 0 {
			all += v
			f.Hot = append(f.Hot, hotNow{NS: h.Rows[i].Part.Namespace, Partition: h.Rows[i].Part.Place.Shard, RU: v})
		}
	}
	slices.SortStableFunc(f.Hot, func(a, b hotNow) int {
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
	return f
}
