package tikvkv

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// The log is read in the order of commit times. A scan takes a new PD timestamp T. At the
// snapshot T it lists the keys with a place above after - window; their commit times come with
// their values. It keeps the records with a commit time above after, and emits them in the order
// of (commit time, key). A heap is sufficient for that order: a record that is not listed yet
// has a place, and so a commit time, that is not before the last place listed. The next scan
// starts at T.
//
// No record is missed. The snapshot T shows every commit up to T and none after T. A record that
// both this scan and the next one miss would have a commit time C above T and a place L of at
// most T - window. But C is at most L + window, because the fence refuses any later commit. This
// does not depend on clocks or delays.

// ReadLog implements storage.Store.
func (s *store) ReadLog(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (storage.Timestamp, error) {
	if next, ok, err := s.readTail(ctx, stream, after, yield); ok || err != nil {
		return next, err
	}
	now, mark, err := s.look(ctx, stream)
	if err != nil {
		return after, err
	}
	if after > 0 && mark > after {
		return after, storage.ErrLogTruncated
	}
	from := oracleOf(after)
	w := s.newLogScan(ctx, stream, now, false)
	for class := range byte(classes) {
		low := subMillis(from, s.limits.windows[class])
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

// ReadLogBack implements storage.Store.
func (s *store) ReadLogBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) error {
	now, mark, err := s.look(ctx, stream)
	if err != nil {
		return err
	}
	if after > 0 && mark > after {
		return storage.ErrLogTruncated
	}
	from, to := oracleOf(after), min(oracleOf(upTo), now)
	w := s.newLogScan(ctx, stream, now, true)
	for class := range byte(classes) {
		low := subMillis(from, s.limits.windows[class])
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

// look starts a scan of a stream. It returns the timestamp of the snapshot, and the timestamp up
// to which the stream was truncated in that snapshot.
func (s *store) look(ctx context.Context, stream []byte) (now uint64, mark storage.Timestamp, err error) {
	if now, err = s.fetchTS(ctx); err != nil {
		return 0, 0, err
	}
	if err := s.lease.waitUntilCovers(ctx, s, now); err != nil {
		return 0, 0, err
	}
	mark, err = s.truncatedTS(ctx, now, stream)
	return now, mark, err
}

// truncatedTS returns the timestamp of the last truncated record, at a PD timestamp.
func (s *store) truncatedTS(ctx context.Context, ts uint64, stream []byte) (storage.Timestamp, error) {
	stored, err := s.get(ctx, ts, s.keys.in(spaceMark, stream))
	if err != nil || len(stored) != 8 {
		return 0, err
	}
	return storage.Timestamp(binary.BigEndian.Uint64(stored)), nil
}

// logScan is a scan of a stream in progress: its buckets, and the values that were listed and not yet
// emitted.
type logScan struct {
	s       *store
	ctx     context.Context
	stream  []byte
	at      uint64 // the snapshot
	reverse bool
	scans   []*bucketScan
	begun   bool // all scans have their first page
	heap    []entry
}

// bucketScan is one class and bucket of a stream, listed page by page.
type bucketScan struct {
	class      byte
	start, end []byte
	bound      uint64 // every record that is not listed yet has a commit time at or after this, or in reverse at or before
	done       bool
}

// entry is the first part of a log value.
type entry struct {
	ts        uint64 // its commit time
	key, body []byte
}

// newLogScan creates a scan of a stream at a snapshot.
func (s *store) newLogScan(ctx context.Context, stream []byte, at uint64, reverse bool) *logScan {
	return &logScan{s: s, ctx: ctx, stream: stream, at: at, reverse: reverse}
}

// addBucket adds a scan of a bucket, with the places above low and up to high.
func (w *logScan) addBucket(class, bucket byte, low, high uint64) {
	prefix := w.s.keys.bucketPrefix(w.stream, class, bucket)
	l := &bucketScan{class: class,
		start: binary.BigEndian.AppendUint64(bytes.Clone(prefix), low),
		end:   binary.BigEndian.AppendUint64(bytes.Clone(prefix), high+1), bound: low}
	if w.reverse {
		l.bound = later(high, w.s.limits.windows[class])
	}
	w.scans = append(w.scans, l)
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (w *logScan) Len() int { return len(w.heap) }

// Less orders by commit time, then by key.
func (w *logScan) Less(i, j int) bool {
	a, b := &w.heap[i], &w.heap[j]
	if w.reverse {
		a, b = b, a
	}
	return a.ts < b.ts || a.ts == b.ts && bytes.Compare(a.key, b.key) < 0
}

// Swap see Len.
func (w *logScan) Swap(i, j int) { w.heap[i], w.heap[j] = w.heap[j], w.heap[i] }

// Push see Len.
func (w *logScan) Push(x any) { w.heap = append(w.heap, x.(entry)) }

// Pop see Len.
func (w *logScan) Pop() any {
	last := w.heap[len(w.heap)-1]
	w.heap = w.heap[:len(w.heap)-1]
	return last
}

// next returns the next value in the order of commit times for which wanted returns true.
func (w *logScan) next(wanted func(ts uint64) bool) (entry, bool, error) {
	for {
		if err := w.s.check(w.ctx); err != nil {
			return entry{}, false, err
		}
		if !w.begun {
			w.begun = true
			if err := w.list(wanted, w.scans...); err != nil {
				return entry{}, false, err
			}
		}
		behind := w.leastAdvanced()
		if len(w.heap) > 0 && (behind == nil || w.reached(w.heap[0].ts, behind.bound)) {
			return heap.Pop(w).(entry), true, nil
		}
		if behind == nil {
			return entry{}, false, nil
		}
		if err := w.list(wanted, behind); err != nil {
			return entry{}, false, err
		}
	}
}

// reached reports whether no record that is not listed yet comes before a commit time.
func (w *logScan) reached(ts, bound uint64) bool {
	if w.reverse {
		return ts > bound
	}
	return ts < bound
}

// leastAdvanced returns the scan that has been listed least far, nil if all scans are at their ends.
func (w *logScan) leastAdvanced() (worst *bucketScan) {
	for _, l := range w.scans {
		if !l.done && (worst == nil || w.reached(l.bound, worst.bound)) {
			worst = l
		}
	}
	return worst
}

// list fetches the next page of each of some buckets, all at the same time. So the scan of a short
// log needs two round trips, however many buckets there are.
func (w *logScan) list(wanted func(ts uint64) bool, lanes ...*bucketScan) error {
	pages, errs := make([]page, len(lanes)), make([]error, len(lanes))
	var all sync.WaitGroup
	for i, l := range lanes {
		all.Go(func() {
			pages[i], errs[i] = w.s.page(w.ctx, w.at, pageRequest{start: l.start, end: l.end, reverse: w.reverse, keysOnly: true, rows: batchKeysMax})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var missing [][]byte
	for i, l := range lanes {
		missing = w.addPage(l, pages[i], wanted, missing)
	}
	if len(missing) == 0 {
		return nil
	}
	got, err := w.s.batch(w.ctx, w.at, missing, clientkv.WithReturnCommitTS())
	if err != nil {
		return err
	}
	for _, key := range missing {
		found, ok := got[string(key)]
		if !ok {
			continue // removed by an older truncation of the same snapshot
		}
		w.s.logCache.add(key, found.CommitTS, found.Value)
		if wanted(found.CommitTS) {
			heap.Push(w, entry{found.CommitTS, key, found.Value})
		}
	}
	return nil
}

// addPage adds a page of a bucket to the heap. Keys whose values are not cached are appended to
// missing.
func (w *logScan) addPage(l *bucketScan, p page, wanted func(ts uint64) bool, missing [][]byte) [][]byte {
	if l.done = p.next == nil; !l.done {
		if w.reverse {
			l.end = p.next
		} else {
			l.start = p.next
		}
	}
	for _, key := range p.keys {
		place, part := placeOf(key)
		if l.bound = place; w.reverse {
			l.bound = later(place, w.s.limits.windows[l.class])
		}
		if part > 0 {
			continue
		}
		if ts, body, ok := w.s.logCache.get(key); !ok {
			missing = append(missing, key)
		} else if wanted(ts) {
			heap.Push(w, entry{ts, key, body})
		}
	}
	return missing
}

// body returns the whole value of an entry.
func (w *logScan) body(e entry) ([]byte, error) {
	if e.body == nil {
		stored, err := w.s.get(w.ctx, w.at, e.key)
		if err != nil {
			return nil, err
		}
		e.body = stored
	}
	parts, err := partsOf(e.body)
	if err != nil || parts == 1 {
		return e.body, err
	}
	whole := bytes.Clone(e.body)
	for part := uint64(1); part < parts; part++ {
		more, err := w.s.get(w.ctx, w.at, partKey(e.key[:len(e.key)-2], uint16(part)))
		if err != nil {
			return nil, err
		}
		whole = append(whole, more...)
	}
	return whole, nil
}

// WaitLog implements storage.Store.
func (s *store) WaitLog(ctx context.Context, after storage.Timestamp) error {
	for {
		s.mu.Lock()
		closed, newest, wake := s.closed, s.newest, s.wake
		s.mu.Unlock()
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

// truncateKeysMax is the number of records that one transaction deletes.
const truncateKeysMax = 512

// TruncateLog implements storage.Store. The mark is written before records are deleted: a reader
// that runs meanwhile has an older snapshot, or finds the mark and returns ErrLogTruncated.
func (s *store) TruncateLog(ctx context.Context, stream []byte, ts storage.Timestamp) error {
	newest := storage.Timestamp(0)
	err := s.ReadLogBack(ctx, stream, ts, 0, func(at storage.Timestamp, _ []byte) bool {
		newest = at
		return false
	})
	if err != nil || newest == 0 {
		return err
	}
	if err := s.writeInternal(ctx, []keyValue{{s.keys.in(spaceMark, stream), binary.BigEndian.AppendUint64(nil, uint64(newest))}}, nil); err != nil {
		return err
	}
	s.tail.truncate(oracleOf(newest))
	return s.remove(ctx, stream, oracleOf(newest))
}

// remove deletes the records of a stream up to a commit time.
func (s *store) remove(ctx context.Context, stream []byte, last uint64) error {
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	for class := range byte(classes) {
		for bucket := range byte(buckets) {
			w := s.newLogScan(ctx, stream, now, false)
			w.addBucket(class, bucket, 0, last)
			if err := s.removeFromBucket(ctx, now, w.scans[0], last); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFromBucket deletes the records of one bucket up to a commit time. If the place of a record is
// earlier than that by more than the window, so is its commit time, and it need not be fetched.
func (s *store) removeFromBucket(ctx context.Context, now uint64, l *bucketScan, last uint64) error {
	sure := subMillis(last, s.limits.windows[l.class])
	for start := l.start; start != nil; {
		p, err := s.page(ctx, now, pageRequest{start: start, end: l.end, keysOnly: true, rows: truncateKeysMax})
		if err != nil {
			return err
		}
		start = p.next
		var gone, unsure [][]byte
		for _, key := range p.keys {
			if place, _ := placeOf(key); place <= sure {
				gone = append(gone, key)
			} else {
				unsure = append(unsure, key)
			}
		}
		if len(unsure) > 0 {
			got, err := s.batch(ctx, now, unsure, clientkv.WithReturnCommitTS())
			if err != nil {
				return err
			}
			for _, key := range unsure {
				if found, ok := got[string(key)]; ok && found.CommitTS <= last {
					gone = append(gone, key)
				}
			}
		}
		if err := s.writeInternal(ctx, nil, gone); err != nil {
			return err
		}
	}
	return nil
}

// writeInternal sets and deletes keys that only the engine itself writes. It is idempotent, so
// conflicts and undetermined outcomes are retried.
func (s *store) writeInternal(ctx context.Context, set []keyValue, remove [][]byte) error {
	if len(set)+len(remove) == 0 {
		return nil
	}
	for try := 0; ; try++ {
		err := s.writeInternalOnce(ctx, set, remove)
		if try < 10 && (errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrUndetermined)) {
			continue
		}
		return err
	}
}

func (s *store) writeInternalOnce(ctx context.Context, set []keyValue, remove [][]byte) error {
	start, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	c, err := s.kv.Begin(tikv.WithStartTS(start))
	if err != nil {
		return translate(err)
	}
	for _, p := range set {
		if err := c.Set(p.key, p.body); err != nil {
			return err
		}
	}
	for _, key := range remove {
		if err := c.Delete(key); err != nil {
			return err
		}
	}
	f := &fence{bound: s.lease.maxCommitTS}
	c.SetRPCInterceptor(f.wrap())
	c.SetDiskFullOpt(kvrpcpb.DiskFullOpt_AllowedOnAlmostFull) // deleting frees space in the end
	e := s.beginRequest(ctx, s.limits.commit)
	defer e.end()
	if err := c.Commit(e); err != nil {
		return f.fail(e, err)
	}
	s.observeTS(transaction.TxnProbe{KVTxn: c}.GetCommitTS())
	return nil
}
