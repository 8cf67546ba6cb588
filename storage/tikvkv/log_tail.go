package tikvkv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

// logTail holds the end of the change log in memory. If this process has the store exclusively, all commits are
// its own, so readers that follow the log are served from the tail, without a request.
//
// The tail is exact. An in-flight commit is entered, with the newest PD timestamp seen, before its commit
// time is fetched; so the commit time is later than that timestamp (see inflightCommit). Once all commits have ended
// that were entered with a timestamp before T, the list holds every commit up to T. If a commit takes too
// long, the log is read from the store instead: that scan pushes the commit times of in-flight commits behind
// itself.
type logTail struct {
	mu       sync.Mutex
	lastID   uint64
	inflight map[uint64]uint64 // the in-flight commits, each with a timestamp that its commit time is after
	changed  chan struct{}     // closed when an in-flight commit ends or its timestamp changes; nil if no reader waits
	list     []loggedCommit    // in the order of commit times; valid from index first on
	first    int
	size     int64
	floor    uint64 // the list may lack commits up to here; all later ones are in the list or in flight
}

// loggedCommit is a commit with its log records.
type loggedCommit struct {
	ts   uint64
	logs []keyValue
	size int64
}

const (
	// tailBytesMax bounds the size of the tail.
	tailBytesMax = 32 << 20
	// tailTimeout is the time for which a reader waits for in-flight commits before it reads from the store
	// instead. Commits take some milliseconds.
	tailTimeout = 40 * time.Millisecond
)

// addInflight adds a commit with log records to the in-flight commits, before its commit time is fetched, and returns
// the ID of its entry. seen is the newest PD timestamp seen, which the commit time is after.
func (t *logTail) addInflight(seen uint64) (id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inflight == nil {
		t.inflight = map[uint64]uint64{}
	}
	t.lastID++
	t.inflight[t.lastID] = seen
	return t.lastID
}

// endInflight removes a commit from the in-flight commits, adds its log records to the tail at the commit time ts,
// and wakes readers that wait for in-flight commits. If ts is 0, nothing was committed.
func (t *logTail) endInflight(id, ts uint64, logs []keyValue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.inflight[id]; !ok {
		return
	}
	delete(t.inflight, id)
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	if ts > t.floor {
		t.insert(loggedCommit{ts: ts, logs: logs, size: sizeOf(logs)})
	}
}

// updateInflight sets the timestamp that the commit time of an in-flight commit is certainly after to the result of
// after, and wakes the readers that wait for in-flight commits.
func (t *logTail) updateInflight(id uint64, after func() uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.inflight[id]; !ok {
		return
	}
	t.inflight[id] = after()
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// sizeOf estimates the memory of log values.
func sizeOf(logs []keyValue) (n int64) {
	for _, p := range logs {
		n += int64(len(p.key)+len(p.body)) + entryBytes
	}
	return n
}

// insert inserts a commit into the tail in the order of commit times, and drops the oldest commits while the tail is
// too large; mu is held.
func (t *logTail) insert(c loggedCommit) {
	at, _ := slices.BinarySearchFunc(t.list[t.first:], c, loggedCommit.compare)
	t.list = slices.Insert(t.list, t.first+at, c)
	t.size += c.size
	for t.size > tailBytesMax && t.first < len(t.list) {
		t.drop()
	}
	if t.first > 1024 && t.first > len(t.list)/2 {
		t.list = append([]loggedCommit(nil), t.list[t.first:]...)
		t.first = 0
	}
}

// compare orders by commit time, then by key.
func (c loggedCommit) compare(d loggedCommit) int {
	return cmp.Or(cmp.Compare(c.ts, d.ts), bytes.Compare(c.logs[0].key, d.logs[0].key))
}

// drop drops the oldest commit; mu is held.
func (t *logTail) drop() {
	old := &t.list[t.first]
	t.size -= old.size
	t.floor = max(t.floor, old.ts)
	*old = loggedCommit{}
	t.first++
}

// truncate drops the commits up to a timestamp from the tail, because the change log was truncated up to there.
func (t *logTail) truncate(ts uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.first < len(t.list) && t.list[t.first].ts <= ts {
		t.drop()
	}
	t.floor = max(t.floor, ts)
}

// bytes estimates the size of the tail.
func (t *logTail) bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// commitsBetween returns the commits with from < commit time <= upTo. If in-flight commits may be among them, ok is
// false, and wait is closed when an in-flight commit ends or its timestamp changes. If the tail does not reach back
// to from, ok is false and wait is nil.
func (t *logTail) commitsBetween(from, upTo uint64) (list []loggedCommit, wait <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from < t.floor {
		return nil, nil, false
	}
	for _, seen := range t.inflight {
		if seen < upTo {
			if t.changed == nil {
				t.changed = make(chan struct{})
			}
			return nil, t.changed, false
		}
	}
	begin, _ := slices.BinarySearchFunc(t.list[t.first:], from, func(c loggedCommit, ts uint64) int {
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

// readTail implements storage.Store.ReadLog from the tail in memory: it passes the records of a stream after a
// timestamp to yield, and returns the timestamp after which the next call continues. If ok is false, the tail may not
// have them all, and the log has to be read from the store.
func (l *changeLog) readTail(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (next storage.Timestamp, ok bool, err error) {
	from := oracleOf(after)
	upTo, known := l.cached.readTS()
	if !known || after == 0 || from >= upTo {
		return after, known && after > 0, l.life.check(ctx)
	}
	list, ok, err := l.commitsFromTail(ctx, from, upTo)
	if err != nil || !ok {
		return after, false, err
	}
	prefix := l.keys.stream(stream)
	for _, c := range list {
		body := bodyOf(c.logs, prefix)
		if body == nil {
			continue
		}
		at := timestampOf(c.ts)
		more, err := eachRecord(body, func(left uint64, rec []byte) bool {
			return yield(at, at-storage.Timestamp(min(left, recordMax)), rec)
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

// commitsFromTail returns the commits with from < commit time <= upTo from the tail, and waits for in-flight ones up
// to tailTimeout. ok is false if these have not ended by then, or if the tail does not reach back to from.
func (l *changeLog) commitsFromTail(ctx context.Context, from, upTo uint64) (list []loggedCommit, ok bool, err error) {
	late := time.NewTimer(tailTimeout)
	defer late.Stop()
	for {
		if err := l.life.check(ctx); err != nil {
			return nil, false, err
		}
		list, wait, ok := l.tail.commitsBetween(from, upTo)
		if wait == nil {
			return list, ok, nil
		}
		select {
		case <-wait:
		case <-late.C:
			return nil, false, nil
		case <-l.life.stop:
		case <-ctx.Done():
		}
	}
}

// stream returns the prefix of the keys of a stream.
func (l layout) stream(stream []byte) []byte {
	return append(binary.BigEndian.AppendUint16(l.in(spaceLog, nil), uint16(len(stream))), stream...)
}

// bodyOf returns the whole log value of a stream among the log values of a commit, nil if it has none.
func bodyOf(logs []keyValue, prefix []byte) (body []byte) {
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
