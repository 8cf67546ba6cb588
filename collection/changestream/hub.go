package changestream

import (
	"context"
	"errors"
	"sort"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Hub wakes waiting streams. While at least one waits, one goroutine reads the end of the log for
// all of them; otherwise there is no goroutine. Safe for concurrent use.
type Hub struct {
	store storage.Store

	mu       sync.Mutex
	waiting  map[*waiter]struct{}
	filters  map[string][]*sharedFilter // by key; each has members
	round    uint64                     // number of passes over the log begun
	readUpTo storage.Timestamp          // the log was read up to here
	from     storage.Timestamp          // recent holds everything after this time
	recent   []recordHeader             // of the last records, in order
	stop     context.CancelFunc
	running  bool
}

// recordHeader is the part of a record that the Hub keeps.
type recordHeader struct {
	ts storage.Timestamp
	op changelog.Op
	id keyspace.CollectionID
}

// recentMax is the number of the newest records that the Hub keeps, and at times up to twice as many, for streams
// that begin to wait a little late.
const recentMax = 4096

// interest holds the records for which a stream waits: DDL commands, and records of the watched collections
// or of all.
type interest struct {
	all     bool
	watched *watchSet
	// question is evaluated for those records; nil = all are of interest.
	question *question
}

// covers reports whether a record may be of interest to the stream, by its operation and collection alone.
func (i *interest) covers(g recordHeader) bool {
	switch {
	case g.op == changelog.Moved:
		return false
	case i.all || g.op == changelog.Command:
		return true
	}
	t, ok := i.watched.byID[g.id]
	return ok && t.ops.has(g.op)
}

// waiter is one waiting stream.
type waiter struct {
	interest *interest
	filter   *sharedFilter     // that evaluates its question, nil = none
	round    uint64            // it began to wait after this round began
	found    bool              // there is something of interest
	after    storage.Timestamp // nothing of interest up to here
	err      error
	wake     chan struct{} // closed once, when the waiter was removed
}

// NewHub makes the Hub of a store.
func NewHub(s storage.Store) *Hub {
	return &Hub{store: s, waiting: map[*waiter]struct{}{}, filters: map[string][]*sharedFilter{}}
}

// wait returns when the log may contain something of interest after a time. Errors: the cause of ctx, errors of the
// store. upTo is a time, not before after, up to which the log contains nothing of interest. wait may replace the
// watched collections of i by an equal object.
func (h *Hub) wait(ctx context.Context, after storage.Timestamp, i *interest) (upTo storage.Timestamp, err error) {
	w := &waiter{interest: i, after: after, wake: make(chan struct{})}
	if h.enter(w) {
		return w.after, w.err
	}
	select {
	case <-w.wake:
		return w.after, w.err
	case <-ctx.Done():
		h.leave(w)
		return w.after, context.Cause(ctx)
	}
}

// WaitFor waits until the insertion or deletion of a document in a collection, or a DDL command, may have been
// committed after a time. It is for tailable cursors, which share the wake-up of streams. Errors: the cause of ctx;
// errors of the store.
func (h *Hub) WaitFor(ctx context.Context, after storage.Timestamp, id keyspace.CollectionID) error {
	const ops = 1<<changelog.Insert | 1<<changelog.Delete
	_, err := h.wait(ctx, after, &interest{watched: &watchSet{map[keyspace.CollectionID]target{id: {nil, ops}}}})
	return err
}

// enter adds a waiter; it returns true if the waiter need not wait.
func (h *Hub) enter(w *waiter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running && w.after < h.readUpTo {
		if w.after < h.from {
			return true // too far behind: the stream reads the log itself
		}
		i := sort.Search(len(h.recent), func(i int) bool { return h.recent[i].ts > w.after })
		for _, g := range h.recent[i:] {
			if w.interest.covers(g) {
				w.after = g.ts - 1
				return true
			}
		}
		w.after = h.readUpTo
	}
	h.waiting[w] = struct{}{}
	w.round = h.round
	h.joinFilter(w)
	if !h.running {
		ctx, stop := context.WithCancel(context.Background())
		h.running, h.stop = true, stop
		h.readUpTo, h.from, h.recent = w.after, w.after, h.recent[:0]
		go h.run(ctx)
	}
	return false
}

// leave removes a waiter that gave up; after the last one, the goroutine ends.
func (h *Hub) leave(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.waiting[w]; ok {
		h.remove(w)
		if h.running {
			w.after = max(w.after, h.readUpTo)
		}
	}
	h.idle()
}

// idle ends the goroutine if there is no waiter. The caller holds mu.
func (h *Hub) idle() {
	if h.running && len(h.waiting) == 0 {
		h.running = false
		h.stop()
	}
}

// run reads the end of the log until there is no waiter any more.
func (h *Hub) run(ctx context.Context) {
	h.mu.Lock()
	after := h.readUpTo
	h.mu.Unlock()
	var fresh []recordHeader
	var look logPass
	pause := readPause
	for {
		err := h.store.WaitLog(ctx, after)
		next := after
		if err == nil {
			fresh = fresh[:0]
			h.beginPass(ctx, &look)
			next, err = h.store.ReadLog(ctx, changelog.Stream, after, func(ts, own storage.Timestamp, rec []byte) bool {
				if op, id, ok := changelog.Peek(rec); ok {
					g := recordHeader{ts, op, id}
					fresh = append(fresh, g)
					look.evaluate(g, own, rec)
				}
				return true
			})
		}
		if ctx.Err() != nil {
			return
		}
		if !h.notifyWaiters(ctx, next, fresh, err) {
			return
		}
		after = next
		if pause *= 2; len(fresh) < 2 {
			pause = readPause
		}
		pause = min(pause, readPauseMax)
		select { // collects commits that follow closely
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// readPause is the initial pause of the reader after it was woken, so that under a load of many small commits it does
// not read the log for each. The first commit after a pause is seen at once. As long as each pass finds several
// records, the pause doubles up to readPauseMax, which is then the maximum delay of a change.
const (
	readPause    = time.Millisecond
	readPauseMax = 10 * time.Millisecond
)

// notifyWaiters wakes the waiters that the fresh records concern, or all after an error. It returns false if the
// goroutine that reads the log has to end.
func (h *Hub) notifyWaiters(ctx context.Context, upTo storage.Timestamp, fresh []recordHeader, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil { // another goroutine reads by now
		return false
	}
	if errors.Is(err, storage.ErrLogTruncated) {
		err = nil // each stream finds out itself
		for w := range h.waiting {
			h.wake(w, w.after, nil)
		}
	}
	if err != nil {
		for w := range h.waiting {
			h.wake(w, w.after, err)
		}
	}
	if len(fresh) > 0 {
		h.wakeFor(fresh)
	}
	h.readUpTo = upTo
	h.remember(fresh)
	h.idle()
	return h.running
}

// wakeFor wakes the waiters that fresh records concern. There are usually many records of few
// collections, so waiters check each kind once.
func (h *Hub) wakeFor(fresh []recordHeader) {
	type span struct {
		first recordHeader
		last  storage.Timestamp
	}
	var spans []span
	var commands []storage.Timestamp
next:
	for _, g := range fresh {
		if g.op == changelog.Command {
			commands = append(commands, g.ts)
		}
		for i := range spans {
			if s := &spans[i]; s.first.id == g.id && s.first.op == g.op {
				s.last = g.ts
				continue next
			}
		}
		if g.op != changelog.Moved {
			spans = append(spans, span{g, g.ts})
		}
	}
	for w := range h.waiting {
		if w.filter != nil && w.round != h.round {
			if at, ok := w.filter.hit(w.after, commands); ok {
				h.wake(w, at-1, nil)
			}
			continue
		}
		first := storage.Timestamp(0)
		for _, s := range spans {
			if s.last > w.after && (first == 0 || s.first.ts < first) && w.interest.covers(s.first) {
				first = s.first.ts
			}
		}
		if first != 0 {
			h.wake(w, first-1, nil)
		}
	}
}

// wake lets a waiter continue. The caller holds mu.
func (h *Hub) wake(w *waiter, after storage.Timestamp, err error) {
	w.found, w.after, w.err = err == nil, max(w.after, after), err
	h.remove(w)
	close(w.wake)
}

// remove removes a waiter. The caller holds mu.
func (h *Hub) remove(w *waiter) {
	delete(h.waiting, w)
	h.leaveFilter(w)
}

// remember keeps the last records. The caller holds mu.
func (h *Hub) remember(fresh []recordHeader) {
	h.recent = append(h.recent, fresh...)
	if over := len(h.recent) - recentMax; over > recentMax {
		h.from = h.recent[over-1].ts
		h.recent = h.recent[:copy(h.recent, h.recent[over:])]
		for len(h.recent) > 0 && h.recent[0].ts == h.from {
			h.recent = h.recent[1:]
		}
	}
}
