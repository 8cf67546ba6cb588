package tikvkv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// tail is the end of the change log in memory. While this process alone has the store, all
// commits are its own, and who follows the log is answered from here, without a request.
//
// It is exact: a commit under way is noted, with the newest time known, before its commit
// time is asked for, which is later; see passage. So once all that were under way at a time have ended,
// every commit up to that time is in the list. Where one takes longer, the store is asked: a look
// at it pushes away what is under way.
type tail struct {
	mu      sync.Mutex
	next    uint64
	pending map[uint64]uint64 // the commits under way, and after which time each will be
	moved   chan struct{}     // closed when one of them ends; nil if nobody waits
	list    []tailed          // in the order of commit times, from first on
	first   int
	size    int64
	floor   uint64 // all commits after it are in the list, or under way
}

// tailed is a commit with log records.
type tailed struct {
	ts   uint64
	logs []placed
	size int64
}

const (
	// tailBytesMax bounds what the tail holds.
	tailBytesMax = 32 << 20
	// tailPatience is how long a reader waits for commits that are under way before it asks
	// the store. They take some milliseconds.
	tailPatience = 40 * time.Millisecond
)

// enter notes a commit with log records that is about to ask for its commit time.
func (t *tail) enter(met uint64) (id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending == nil {
		t.pending = map[uint64]uint64{}
	}
	t.next++
	t.pending[t.next] = met
	return t.next
}

// leave notes that a commit has ended: at a time, with its records, or at 0 without any.
func (t *tail) leave(id, ts uint64, logs []placed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.pending[id]; !ok {
		return
	}
	delete(t.pending, id)
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
	if ts > t.floor {
		t.insert(tailed{ts: ts, logs: logs, size: sizeOf(logs)})
	}
}

// move notes after which time a commit that is under way will be, as more is known of it.
func (t *tail) move(id uint64, after func() uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.pending[id]; !ok {
		return
	}
	t.pending[id] = after()
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// passage is a commit on its way, as the tail sees it. Its commit time is asked for when all its
// prewrites are answered: until then it will be after every time that is known, whatever comes.
// From when it leaves on its commit time is known.
type passage struct {
	s         *store
	id        uint64 // in the tail, 0 for a commit without log records
	logs      []placed
	prewrites atomic.Int64 // under way
}

// enter begins the passage of a commit that is about to ask for its commit time.
func (s *store) enter(logs []placed) *passage {
	p := &passage{s: s, logs: logs}
	if len(logs) > 0 && s.alone() {
		p.id = s.tail.enter(s.met.Load())
	}
	return p
}

// prewriting notes a prewrite that leaves, prewritten one that is answered. The commit time of those who choose it
// while they prewrite is not asked for at the end.
func (p *passage) prewriting() {
	if p.prewrites.Add(1) == 1 && !p.s.o.AsyncCommit && !p.s.o.OnePhase {
		p.s.tail.move(p.id, func() uint64 {
			if p.prewrites.Load() == 0 {
				return p.s.met.Load()
			}
			return math.MaxUint64
		})
	}
}

func (p *passage) prewritten() {
	if p.prewrites.Add(-1) == 0 && !p.s.o.AsyncCommit && !p.s.o.OnePhase {
		p.s.tail.move(p.id, func() uint64 {
			if p.prewrites.Load() > 0 {
				return math.MaxUint64
			}
			return p.s.met.Load()
		})
	}
}

// dated notes the commit time under which the commit leaves.
func (p *passage) dated(ts uint64) { p.s.tail.move(p.id, func() uint64 { return ts - 1 }) }

// done ends the passage: with the commit time, or 0 if nothing was committed.
func (p *passage) done(ts uint64) {
	p.s.tail.leave(p.id, ts, p.logs)
	p.s.committed(ts, p.logs)
}

// sizeOf is about what log values take.
func sizeOf(logs []placed) (n int64) {
	for _, p := range logs {
		n += int64(len(p.key)+len(p.body)) + entryBytes
	}
	return n
}

// insert puts a commit into its place, and drops the oldest ones when there are too many; mu is held.
func (t *tail) insert(c tailed) {
	at, _ := slices.BinarySearchFunc(t.list[t.first:], c, tailed.compare)
	t.list = slices.Insert(t.list, t.first+at, c)
	t.size += c.size
	for t.size > tailBytesMax && t.first < len(t.list) {
		t.drop()
	}
	if t.first > 1024 && t.first > len(t.list)/2 {
		t.list = append([]tailed(nil), t.list[t.first:]...)
		t.first = 0
	}
}

// compare orders by commit time, then by key.
func (c tailed) compare(d tailed) int {
	return cmp.Or(cmp.Compare(c.ts, d.ts), bytes.Compare(c.logs[0].key, d.logs[0].key))
}

// drop drops the oldest commit; mu is held.
func (t *tail) drop() {
	old := &t.list[t.first]
	t.size -= old.size
	t.floor = max(t.floor, old.ts)
	*old = tailed{}
	t.first++
}

// cut drops the commits up to a time: the log is truncated there.
func (t *tail) cut(ts uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.first < len(t.list) && t.list[t.first].ts <= ts {
		t.drop()
	}
	t.floor = max(t.floor, ts)
}

// bytes is about what the tail holds.
func (t *tail) bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// after is every commit with from < commit time <= upTo, if that is known. If it is not, because commits are
// under way that may be among them, wait is closed when one of those has ended.
func (t *tail) after(from, upTo uint64) (list []tailed, wait <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from < t.floor {
		return nil, nil, false
	}
	for _, met := range t.pending {
		if met < upTo {
			if t.moved == nil {
				t.moved = make(chan struct{})
			}
			return nil, t.moved, false
		}
	}
	begin, _ := slices.BinarySearchFunc(t.list[t.first:], from, func(c tailed, ts uint64) int {
		if c.ts <= ts {
			return -1
		}
		return 1
	})
	for _, c := range t.list[t.first+begin:] {
		if c.ts > upTo {
			break
		}
		list = append(list, c)
	}
	return list, nil, true
}

// follow is ReadLog for what the tail has; ok is false if it is to be asked of the store.
func (s *store) follow(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (next storage.Timestamp, ok bool, err error) {
	from := oracleOf(after)
	upTo, known := s.known()
	if !known || after == 0 || from >= upTo {
		return after, known && after > 0, s.check(ctx)
	}
	list, ok, err := s.tailed(ctx, from, upTo)
	if err != nil || !ok {
		return after, false, err
	}
	prefix := s.keys.stream(stream)
	for _, c := range list {
		body := bodyOf(c.logs, prefix)
		if body == nil {
			continue
		}
		at := timestampOf(c.ts)
		more, err := unplace(body, func(left uint64, rec []byte) bool {
			return yield(at, at-storage.Timestamp(min(left, placeMax)), rec)
		})
		if err != nil {
			return after, true, err
		}
		if !more {
			return at - 1, true, nil
		}
	}
	return timestampOf(upTo), true, nil
}

// tailed is every commit with from < commit time <= upTo from the tail, once those that
// were under way have ended; ok is false if they do not, or the tail does not reach back.
func (s *store) tailed(ctx context.Context, from, upTo uint64) (list []tailed, ok bool, err error) {
	late := time.NewTimer(tailPatience)
	defer late.Stop()
	for {
		if err := s.check(ctx); err != nil {
			return nil, false, err
		}
		list, wait, ok := s.tail.after(from, upTo)
		if wait == nil {
			return list, ok, nil
		}
		select {
		case <-wait:
		case <-late.C:
			return nil, false, nil
		case <-s.stop:
		case <-ctx.Done():
		}
	}
}

// stream is the beginning of the keys of a stream.
func (l layout) stream(stream []byte) []byte {
	return append(binary.BigEndian.AppendUint16(l.in(spaceLog, nil), uint16(len(stream))), stream...)
}

// bodyOf is the whole log value of a stream among those of a commit, nil if it has none.
func bodyOf(logs []placed, prefix []byte) (body []byte) {
	for _, p := range logs {
		if !bytes.HasPrefix(p.key, prefix) {
			continue
		}
		if body == nil {
			body = p.body[:len(p.body):len(p.body)]
		} else {
			body = append(body, p.body...)
		}
	}
	return body
}
