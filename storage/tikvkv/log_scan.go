package tikvkv

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"sync"

	clientkv "github.com/tikv/client-go/v2/kv"
)

// logScan is a scan in progress of one stream of the change log, in the order of commit times. It holds the scans of
// the stream's buckets, and a heap of the values that were listed and not yet emitted.
type logScan struct {
	log     *changeLog
	ctx     context.Context
	stream  []byte
	at      uint64 // the snapshot
	reverse bool
	scans   []*bucketScan
	begun   bool // all scans have their first page
	heap    []entry
}

// bucketScan is the scan of one class and bucket of a stream's log keys, which are listed page by page in the order
// of their places.
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
func (l *changeLog) newLogScan(ctx context.Context, stream []byte, at uint64, reverse bool) *logScan {
	return &logScan{log: l, ctx: ctx, stream: stream, at: at, reverse: reverse}
}

// addBucket adds the log keys of one class and bucket to the scan: those with places from low to high.
func (w *logScan) addBucket(class, bucket byte, low, high uint64) {
	prefix := w.log.keys.bucketPrefix(w.stream, class, bucket)
	l := &bucketScan{class: class,
		start: binary.BigEndian.AppendUint64(bytes.Clone(prefix), low),
		end:   binary.BigEndian.AppendUint64(bytes.Clone(prefix), high+1), bound: low}
	if w.reverse {
		l.bound = later(high, w.log.limits.windows[class])
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

// next returns the next log value of the scan for whose commit time accepts is true, in the order of commit times. It
// returns false when the stream has no more values.
func (w *logScan) next(accepts func(ts uint64) bool) (entry, bool, error) {
	for {
		if err := w.log.life.check(w.ctx); err != nil {
			return entry{}, false, err
		}
		if !w.begun {
			w.begun = true
			if err := w.list(accepts, w.scans...); err != nil {
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
		if err := w.list(accepts, behind); err != nil {
			return entry{}, false, err
		}
	}
}

// reached reports whether all records that come before the commit time ts have been listed; every record that is not
// listed yet has a commit time at bound or later, or in reverse at bound or earlier.
func (w *logScan) reached(ts, bound uint64) bool {
	if w.reverse {
		return ts > bound
	}
	return ts < bound
}

// leastAdvanced returns the bucket that has been listed least far in the order of commit times, nil if all buckets
// have been listed to their ends.
func (w *logScan) leastAdvanced() (worst *bucketScan) {
	for _, l := range w.scans {
		if !l.done && (worst == nil || w.reached(l.bound, worst.bound)) {
			worst = l
		}
	}
	return worst
}

// list fetches the next page of log keys of each given bucket, all at the same time, and then, in one batch, the
// values that are not cached. So the scan of a short log needs two round trips, however many buckets there are.
func (w *logScan) list(accepts func(ts uint64) bool, lanes ...*bucketScan) error {
	pages, errs := make([]page, len(lanes)), make([]error, len(lanes))
	var all sync.WaitGroup
	for i, l := range lanes {
		all.Go(func() {
			pages[i], errs[i] = w.log.rows.page(w.ctx, w.at, pageRequest{start: l.start, end: l.end, reverse: w.reverse, keysOnly: true, rows: batchKeysMax})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var missing [][]byte
	for i, l := range lanes {
		missing = w.addPage(l, pages[i], accepts, missing)
	}
	if len(missing) == 0 {
		return nil
	}
	got, err := w.log.rows.batch(w.ctx, w.at, missing, clientkv.WithReturnCommitTS())
	if err != nil {
		return err
	}
	for _, key := range missing {
		found, ok := got[string(key)]
		if !ok {
			continue // removed by an older truncation of the same snapshot
		}
		w.log.cache.add(key, found.CommitTS, found.Value)
		if accepts(found.CommitTS) {
			heap.Push(w, entry{found.CommitTS, key, found.Value})
		}
	}
	return nil
}

// addPage adds those values of a page of log keys to the heap whose commit times the caller accepts. Keys whose
// values are not cached are appended to missing, for one batch of reads.
func (w *logScan) addPage(l *bucketScan, p page, accepts func(ts uint64) bool, missing [][]byte) [][]byte {
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
			l.bound = later(place, w.log.limits.windows[l.class])
		}
		if part > 0 {
			continue
		}
		if ts, body, ok := w.log.cache.get(key); !ok {
			missing = append(missing, key)
		} else if accepts(ts) {
			heap.Push(w, entry{ts, key, body})
		}
	}
	return missing
}

// body returns the whole value of an entry.
func (w *logScan) body(e entry) ([]byte, error) {
	if e.body == nil {
		stored, err := w.log.rows.get(w.ctx, w.at, e.key)
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
		more, err := w.log.rows.get(w.ctx, w.at, partKey(e.key[:len(e.key)-2], uint16(part)))
		if err != nil {
			return nil, err
		}
		whole = append(whole, more...)
	}
	return whole, nil
}
