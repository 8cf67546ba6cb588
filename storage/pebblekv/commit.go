package pebblekv

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// No timestamp is above a ceiling that is stored in the database, and an opened store continues above it: so none
// is assigned twice. The first commit that needs a higher ceiling raises it, by ten seconds of the clock and at
// least 2²⁰ timestamps, so that few commits have to store one.
const (
	ceilingSeconds = 10
	ceilingCount   = 1 << 20
)

// keepBatch is the size up to which Pebble keeps the memory of a batch for the next commit: 4 MiB, that of a
// command with a thousand documents of usual size. Memory of idle batches is garbage-collected.
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
	t.End() // ends the transaction if write failed; apply has ended a committed one
	if err == nil && d == storage.Synced {
		err = t.s.syncer.wait(ts)
	} else if err == nil {
		t.s.syncer.requestSync()
	}
	return ts, err
}

// write collects the writes of the transaction in a Pebble batch, refuses them if the store is not writable or too
// little disk space is left for them, and commits them by apply, not yet durably.
func (t *txn) write(ctx context.Context) (storage.Timestamp, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	w, s := t.work, t.s
	switch {
	case s.o.Follow:
		return 0, storage.ErrFollower
	case s.o.DiskFull:
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
			sets -= metas // metadata, such as the record of a retryable delete, does not count as data added
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

// apply commits a batch, one commit at a time: it checks for conflicts, assigns the timestamp, adds the log
// records or else the timestamp to the batch, and makes the writes visible without waiting for the disk. t is nil
// for writes outside transactions, which have no conflicts.
func (s *store) apply(b *pebble.Batch, w *work, t *txn) (storage.Timestamp, error) {
	s.commit.Lock()
	defer s.commit.Unlock()

	s.mu.Lock()
	if t != nil {
		err := error(nil)
		if s.closed {
			err = storage.ErrClosed
		} else if s.fenced {
			err = storage.ErrFollower
		} else if s.conflicts.anyNewer(w.prints, t.snap.ts) {
			s.refused.Add(1)
			err = storage.ErrConflict
		}
		if err != nil {
			s.mu.Unlock()
			return 0, err
		}
	}
	// The Pebble snapshot of the state before this commit is created now. Transactions that begin while the batch
	// is being applied read from it.
	s.materialize(s.snaps.newest)
	s.mu.Unlock()

	ts := s.next(w)
	if err := s.addLog(b, w, ts); err != nil {
		return 0, s.translate(err)
	}
	if !b.Empty() {
		s.diskSpace.unflushedBytes.Add(int64(b.Len()))
		if err := s.db.Apply(b, pebble.NoSync); err != nil {
			s.mu.Lock()
			s.dead.disable()
			s.mu.Unlock()
			return ts, fmt.Errorf("%w: %w", storage.ErrUndetermined, s.translate(err))
		}
	}
	first := uint64(b.SeqNum()) // 0 if the batch was so large that Pebble has taken its memory
	s.unflushed.add(&w.buf, first, b.Count())
	s.refreshHot(w, ts)
	s.commits.Add(1)
	if first == 0 {
		first = s.written.Load() // other writes between do not count: the next commit has its number
	}
	s.written.Store(first + uint64(b.Count()))

	s.mu.Lock()
	s.dead.cut(&w.buf)
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

// refreshHot replaces or removes the values of a commit's keys in the hot cache, before any read at the commit's
// timestamp. If the commit deletes a range, it invalidates the whole cache.
func (s *store) refreshHot(w *work, ts storage.Timestamp) {
	for i, renewal := range w.replacements {
		s.hot.overwrite(w.prints[i], ts, renewal)
	}
	if w.ranges {
		s.hot.invalidate(ts)
	}
}

// next returns the timestamp of the next commit. Each log record of a commit has a timestamp of its own, the last
// one that of the commit: so a commit with n records takes n timestamps, at least one. The caller holds store.commit.
func (s *store) next(w *work) storage.Timestamp {
	first := max(s.Latest()+1, s.clock())
	return first + storage.Timestamp(max(len(w.buf.Logs()), 1)-1)
}

// clock returns the present time in whole seconds as a timestamp, 0 if the store has no clock.
func (s *store) clock() storage.Timestamp {
	if s.o.Clock == nil {
		return 0
	}
	return storage.MakeTimestamp(uint32(s.o.Clock().Unix()), 1)
}

// addLog appends the change-log records of a commit to its batch and, unless the store is in memory, a new ceiling
// if ts is above the stored one, and the timestamp for Writes if there are no records and the batch is not empty.
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
		return b.LogData(encodeTimestamp(ts), nil) // the commit's timestamp, for Writes; stored in the write-ahead log only
	}
	return nil
}

// recordConflicts enters the keys of a commit into the conflict table, against which transactions that are still
// open are checked. The caller holds store.mu, and the committing transaction has left the list of open ones.
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
