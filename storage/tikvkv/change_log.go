package tikvkv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// changeLog reads, follows and truncates the change log of a keyspace, and builds the log records of commits. Its
// newest part is also in memory: tail holds whole commits, cache holds single log values.
//
// The keys of the log are ordered by place, the PD timestamp that a commit takes before it gets its commit time; the
// log is read in the order of commit times. A scan of the records after a timestamp A takes a new PD timestamp T. At
// the snapshot T it lists the keys with a place of at least A - window, where window is the longest time that a
// commit time may be after its place; the commit times come with the values. It emits the records with a commit time
// above A in the order of (commit time, key). A heap is sufficient for that order: a record that is not listed yet
// has a place, and so a commit time, that is not before the last place listed. The next scan starts at T.
//
// No record is missed. The snapshot T shows every commit up to T and none after T. A record that both this scan and
// the next one miss would have a commit time C above T and a place L below T - window. But C is at most L + window,
// because the fence refuses any later commit. This does not depend on clocks or delays.
type changeLog struct {
	*settings
	life     *lifecycle
	oracle   *oracle
	lease    *lease
	cached   *cachedTS
	rows     *rows
	internal *internalCommits

	writerID uint32        // ID of this process in the keys of its records
	seq      atomic.Uint32 // sequence number of commits with log records
	cache    logCache
	tail     logTail

	mu     sync.Mutex        // guards the fields below
	newest storage.Timestamp // timestamp of the newest commit of this process
	wake   chan struct{}     // closed by the next commit
	closed bool
}

// newChangeLog returns the change log of a keyspace, with an empty tail.
func newChangeLog(r *rows, life *lifecycle, cached *cachedTS, i *internalCommits) *changeLog {
	l := &changeLog{settings: r.settings, life: life, oracle: r.oracle, lease: r.lease, cached: cached, rows: r, internal: i, wake: make(chan struct{})}
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	l.writerID = binary.BigEndian.Uint32(id[:])
	return l
}

// begin sets the beginning of the log in memory to the newest PD timestamp seen, when the store is opened: log
// records of earlier commits are read from the cluster.
func (l *changeLog) begin() {
	ts := l.oracle.maxSeenTS.Load()
	l.newest = timestampOf(ts)
	l.tail.floor = ts
}

// committed adds the log records of a commit of this process, which was made at the commit time ts, to the cache, and
// wakes the readers that wait for new commits.
func (l *changeLog) committed(ts uint64, logged []keyValue) {
	for _, p := range logged {
		l.cache.add(p.key, ts, p.body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = max(l.newest, timestampOf(ts))
	if !l.closed {
		close(l.wake)
		l.wake = make(chan struct{})
	}
}

// close wakes all that wait for commits.
func (l *changeLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.wake)
}

// bytes estimates the memory of the log records in cache and tail, in bytes.
func (l *changeLog) bytes() int64 { return l.cache.bytes() + l.tail.bytes() }

// read implements storage.Store.ReadLog.
func (l *changeLog) read(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (storage.Timestamp, error) {
	if next, ok, err := l.readTail(ctx, stream, after, yield); ok || err != nil {
		return next, err
	}
	now, mark, err := l.beginScan(ctx, stream)
	if err != nil {
		return after, err
	}
	if after > 0 && mark > after {
		return after, storage.ErrLogTruncated
	}
	from := oracleOf(after)
	w := l.newLogScan(ctx, stream, now, false)
	for class := range byte(classes) {
		low := subMillis(from, l.limits.windows[class])
		for bucket := range byte(buckets) {
			w.addBucket(class, bucket, low, now)
		}
	}
	for {
		e, ok, err := w.next(func(ts uint64) bool { return ts > from && timestampOf(ts) > mark })
		if err != nil {
			return after, err
		}
		if !ok {
			return max(after, timestampOf(now)), nil
		}
		body, err := w.body(e)
		if err != nil {
			return after, err
		}
		at := timestampOf(e.ts)
		more, err := eachRecord(body, func(left uint64, rec []byte) bool {
			return yield(at, at-storage.Timestamp(min(left, recordMax)), rec)
		})
		if err != nil {
			return after, err
		}
		if !more {
			return at - 1, nil
		}
	}
}

// readBack implements storage.Store.ReadLogBack.
func (l *changeLog) readBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) error {
	now, mark, err := l.beginScan(ctx, stream)
	if err != nil {
		return err
	}
	if after > 0 && mark > after {
		return storage.ErrLogTruncated
	}
	from, to := oracleOf(after), min(oracleOf(upTo), now)
	w := l.newLogScan(ctx, stream, now, true)
	for class := range byte(classes) {
		low := subMillis(from, l.limits.windows[class])
		for bucket := range byte(buckets) {
			w.addBucket(class, bucket, low, to)
		}
	}
	for {
		e, ok, err := w.next(func(ts uint64) bool { return ts > from && ts <= to && timestampOf(ts) > mark })
		if err != nil || !ok {
			return err
		}
		body, err := w.body(e)
		if err != nil {
			return err
		}
		var records [][]byte
		if _, err := eachRecord(body, func(_ uint64, rec []byte) bool {
			records = append(records, rec)
			return true
		}); err != nil {
			return err
		}
		for i := len(records) - 1; i >= 0; i-- {
			if !yield(timestampOf(e.ts), records[i]) {
				return nil
			}
		}
	}
}

// beginScan starts a scan of a stream of the change log. It returns now, the PD timestamp of the scan's snapshot, and
// mark, the timestamp up to which the stream was truncated in that snapshot.
func (l *changeLog) beginScan(ctx context.Context, stream []byte) (now uint64, mark storage.Timestamp, err error) {
	if now, err = l.oracle.fetchTS(ctx); err != nil {
		return 0, 0, err
	}
	if err := l.lease.waitUntilCovers(ctx, now); err != nil {
		return 0, 0, err
	}
	mark, err = l.truncatedTS(ctx, now, stream)
	return now, mark, err
}

// truncatedTS returns the timestamp of the newest log record that was truncated from a stream, as stored at the PD
// timestamp ts; 0 if the stream was never truncated.
func (l *changeLog) truncatedTS(ctx context.Context, ts uint64, stream []byte) (storage.Timestamp, error) {
	stored, err := l.rows.get(ctx, ts, l.keys.in(spaceMark, stream))
	if err != nil || len(stored) != 8 {
		return 0, err
	}
	return storage.Timestamp(binary.BigEndian.Uint64(stored)), nil
}

// wait implements storage.Store.WaitLog.
func (l *changeLog) wait(ctx context.Context, after storage.Timestamp) error {
	for {
		l.mu.Lock()
		closed, newest, wake := l.closed, l.newest, l.wake
		l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case closed:
			return storage.ErrClosed
		case newest > after:
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}
