package pebblekv

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// Timestamps are only assigned below a stored ceiling, so that none is assigned twice after a
// restart. The first commit that needs a higher ceiling raises it, by these steps.
const (
	ceilingSeconds = 10
	ceilingCount   = 1 << 20
)

// keepBatch lets Pebble reuse the memory of batches up to the size of a command with a thousand
// documents of usual size. Idle batches are garbage-collected.
var keepBatch = pebble.WithMaxRetainedSizeBytes(4 << 20)

// Apply implements writebuf.Engine.
func (t *txn) Apply(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	t.dropPoints()
	if t.Empty() {
		ts := t.snap.ts
		t.End()
		if d == storage.Synced {
			return ts, t.s.syncer.wait(ts)
		}
		return ts, nil
	}
	ts, err := t.write(ctx)
	t.End() // if write failed early
	if err == nil && d == storage.Synced {
		err = t.s.syncer.wait(ts)
	} else if err == nil {
		t.s.syncer.requestSync()
	}
	return ts, err
}

// write makes the writes visible.
func (t *txn) write(ctx context.Context) (storage.Timestamp, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	w, s := t.work, t.s
	if s.o.DiskFull {
		return 0, storage.ErrDiskFull
	}
	if s.o.ReadOnly || s.damaged.Load() && !t.Essential {
		return 0, storage.ErrNotWritable
	}
	sets, metas, deletes := 0, 0, 0
	size := 64 + w.buf.Bytes() + 64*len(w.buf.Logs()) + 16*w.buf.Len()
	b := s.db.NewBatchWithSize(size, keepBatch)
	defer func() { _ = b.Close() }()
	for key, value := range w.buf.All() {
		print := maphash.Bytes(s.seed, key)
		w.prints = append(w.prints, print)
		w.replacements = append(w.replacements, s.hot.replacement(key, value, print))
		var err error
		if value != nil {
			if sets++; key[0] == familyMeta {
				metas++
			}
			err = b.Set(key, value, nil)
		} else {
			deletes++
			err = b.Delete(key, nil)
		}
		if err != nil {
			return 0, s.translate(err)
		}
	}
	for _, key := range w.buf.Locks() {
		w.prints = append(w.prints, maphash.Bytes(s.seed, key))
	}
	if claimed := s.diskSpace.claim(size); claimed > 0 {
		defer s.diskSpace.claimedBytes.Add(-claimed)
	}
	if s.diskSpace.full() {
		if deletes > 0 {
			sets -= metas // such as the record of a retryable delete
		}
		adds := sets >= deletes && (sets > 0 || len(w.buf.Logs()) > 0)
		if err := s.admit(ctx, w, adds, t.Essential); err != nil {
			return 0, err
		}
	} else if deletes > 0 && s.diskSpace.nearlyFull() {
		s.reclaimer.spendUnchecked(w)
	}
	return s.apply(b, w, t)
}

// apply is the commit section: it adds timestamp and log records to the batch and makes it
// visible. t is nil for writes outside transactions.
func (s *store) apply(b *pebble.Batch, w *work, t *txn) (storage.Timestamp, error) {
	s.commit.Lock()
	defer s.commit.Unlock()

	s.mu.Lock()
	if t != nil {
		err := error(nil)
		if s.closed {
			err = storage.ErrClosed
		} else if s.conflicts.anyNewer(w.prints, t.snap.ts) {
			s.refused.Add(1)
			err = storage.ErrConflict
		}
		if err != nil {
			s.mu.Unlock()
			return 0, err
		}
	}
	// Transactions that begin while the batch is being applied get the state before it.
	s.materialize(s.snaps.newest)
	s.mu.Unlock()

	ts := s.next(w)
	if err := s.addLog(b, w, ts); err != nil {
		return 0, s.translate(err)
	}
	if !b.Empty() {
		s.diskSpace.unflushedBytes.Add(int64(b.Len()))
		if err := s.db.Apply(b, pebble.NoSync); err != nil {
			return ts, fmt.Errorf("%w: %w", storage.ErrUndetermined, s.translate(err))
		}
	}
	s.refreshHot(w, ts)
	s.commits.Add(1)
	s.written.Store(uint64(b.SeqNum()) + uint64(b.Count()))

	s.mu.Lock()
	s.latest.Store(uint64(ts))
	if t != nil {
		t.leave()
	}
	unused := s.snaps.advance(ts)
	s.recordConflicts(w.prints, ts)
	s.mu.Unlock()
	if s.o.InMemory {
		s.syncer.advance(ts)
	}
	if t != nil {
		t.End()
	}
	s.anchor.close(unused)
	return ts, nil
}

// refreshHot puts the values that a commit writes into the hot values, before any read at its
// timestamp.
func (s *store) refreshHot(w *work, ts storage.Timestamp) {
	for i, renewal := range w.replacements {
		s.hot.overwrite(w.prints[i], ts, renewal)
	}
	if w.ranges {
		s.hot.invalidate(ts)
	}
}

// next returns the timestamp of the commit. The log records of the commit but the last have the
// timestamps before it. store.commit is held.
func (s *store) next(w *work) storage.Timestamp {
	first := max(s.Latest()+1, s.clock())
	return first + storage.Timestamp(max(len(w.buf.Logs()), 1)-1)
}

// clock returns the present time as a timestamp, 0 without a clock.
func (s *store) clock() storage.Timestamp {
	if s.o.Clock == nil {
		return 0
	}
	return storage.MakeTimestamp(uint32(s.o.Clock().Unix()), 1)
}

// addLog appends the log records of a commit to the batch, and a new ceiling if ts needs one.
func (s *store) addLog(b *pebble.Batch, w *work, ts storage.Timestamp) error {
	logs := w.buf.Logs()
	for i, r := range logs {
		w.key = appendLogKey(w.key[:0], r.Stream, ts, lastInCommit-uint32(len(logs)-1-i))
		if err := b.Set(w.key, r.Rec, nil); err != nil {
			return err
		}
	}
	if ts > s.ceiling && !s.o.InMemory {
		c := ts + ceilingCount
		if now := s.clock(); now.Seconds() == ts.Seconds() && now != 0 {
			c = max(c, storage.MakeTimestamp(now.Seconds()+ceilingSeconds, 0))
		}
		if err := b.Set(keyCeiling, encodeTimestamp(c), nil); err != nil {
			return err
		}
		s.ceiling = c
	}
	if len(logs) == 0 && !b.Empty() && !s.o.InMemory {
		return b.LogData(encodeTimestamp(ts), nil) // for Writes; stored in the write-ahead log only
	}
	return nil
}

// recordConflicts enters the keys of a commit into the conflict table, for transactions that are still
// open; store.mu is held and the committing transaction has left the list.
func (s *store) recordConflicts(prints []uint64, ts storage.Timestamp) {
	if s.open == 0 {
		s.conflicts.reset(ts)
		return
	}
	s.conflicts.add(prints, ts)
	oldest := ts
	if s.txns.head != nil {
		oldest = s.txns.head.snap.ts
	}
	s.conflicts.prune(oldest, s.snaps.oldest())
}
