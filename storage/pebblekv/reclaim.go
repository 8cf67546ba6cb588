package pebblekv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

const (
	reclaimEvery = 500 * time.Millisecond // minimum interval between two rounds
	// deleteWaits is the time for which a delete waits for space before it is refused. It is short, because the
	// snapshot of the waiting delete keeps versions that others delete.
	deleteWaits  = 2 * time.Second
	compactBytes = 64 << 20 // maximum bytes of tables of the last level that one compaction of reclaim rewrites

	compactPatience = 10 * time.Second // time limit of one compaction

	flushDepth = stopDepth / 2 // if Pebble's level 0 has more sublevels, a round flushes nothing
)

// reclaimer is the state of the background work that frees space on a full disk (see reclaim). A deleted document
// is first written once more, as its pre-image in the change log: so the log must be shortened by as much before a
// delete is admitted. Credit counts these bytes.
type reclaimer struct {
	sync.Mutex
	shorten func(ctx context.Context, bytes int64) (int64, error)
	// credit is the number of bytes by which the change log was shortened, minus those that deletes have written.
	// If it is negative, the log is still to be shortened by that many bytes.
	credit        int64
	creditNeeded  int64             // the largest credit in bytes for which a delete waits
	logExhausted  bool              // the log cannot be shortened further
	flushNeeded   bool              // an Essential commit, perhaps a drop, was admitted on a full disk and must be flushed to free space
	spans         spans             // ranges of deleted keys that are not compacted yet
	deferred      spans             // ranges compacted while an older snapshot was open, which kept the deleted versions
	deferredUntil storage.Timestamp // when no snapshot older than this is open, the deferred ranges are compacted again
}

// spans holds ranges of deleted keys: one per family (kind) of keys, which covers all deletes in it.
type spans map[string]storage.Range

// WhenFull sets the function that reclaim calls on a full disk: shorten deletes the oldest part of the change log,
// at least so many bytes if it is that long, and returns how many.
func (s *store) WhenFull(shorten func(ctx context.Context, bytes int64) (int64, error)) {
	s.reclaimer.Lock()
	defer s.reclaimer.Unlock()
	s.reclaimer.shorten = shorten
}

// updateSpace measures the free space of the disk and the size of memtables, and creates or enlarges the ballast
// if there is space for it. If the free space is below the reserve, it deletes logs kept for reuse, unless logs
// are kept for a backup.
func (s *store) updateSpace() {
	r := &s.diskSpace
	if r.files == nil {
		return
	}
	r.measure()
	reserve := r.reserve()
	if reserve == 0 {
		return
	}
	m := s.db.Metrics()
	r.unflushedBytes.Store(int64(m.MemTable.Size))
	r.growBallast(int64(m.DiskSpaceUsage()))
	if !r.hasLeft(reserve) && !s.retained.active.Load() {
		s.dropLogs()
	}
}

// growBallast enlarges the ballast to the target size for a store of so many bytes, if the reserve stays free.
// After a failure it does not try again for a minute.
func (r *diskSpace) growBallast(store int64) {
	b := &r.ballast
	want, size := b.target(r.total.Load(), store), b.bytes()
	if want > size && !b.failed.Load() && r.left() >= r.reserve()+want-size {
		if err := b.grow(want); err != nil {
			b.failed.Store(true)
			time.AfterFunc(ballastRetry, func() { b.failed.Store(false) })
			r.log.Errorf("the ballast cannot be made: %v", err)
		}
		r.measure()
	}
	b.missing.Store(max(want-b.bytes(), 0))
}

// dropLogs deletes old write-ahead logs that Pebble keeps only to reuse their files, except one, to free space.
func (s *store) dropLogs() {
	logs, err := s.retained.list()
	if err != nil {
		return
	}
	// The logs in use are counted after the list was made: so all of them that it holds are among its newest
	// inUse.
	inUse := int(s.db.Metrics().WAL.Files)
	for _, l := range logs[:max(len(logs)-inUse-1, 0)] {
		_ = s.o.FS.Remove(s.retained.path(l))
	}
}

// admit decides whether a commit may run while the disk is full. An essential one is admitted, one that adds data
// is refused, and a delete waits up to two seconds for space and credit. While isBlocked is true, all are refused.
// Errors: ErrDiskFull, ErrClosed, errors of the context.
func (s *store) admit(ctx context.Context, w *work, adds, essential bool) error {
	r := &s.diskSpace
	switch {
	case r.isBlocked() || adds && !essential:
		signal(r.reclaimNeeded)
		return storage.ErrDiskFull
	case essential:
		s.reclaimer.requestFlush()
		signal(r.reclaimNeeded)
		return nil
	}
	need := int64(w.buf.Bytes())
	for waited := time.Duration(0); ; waited += spacePause {
		if !r.full() {
			return nil
		}
		if (r.left() >= r.reservePart(2) || r.releaseBallastIfLow(0)) && s.reclaimer.spend(need) {
			s.reclaimer.recordDeletes(w)
			signal(r.reclaimNeeded)
			return nil
		}
		signal(r.reclaimNeeded)
		if waited >= deleteWaits {
			return storage.ErrDiskFull
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.stop:
			return storage.ErrClosed
		case <-time.After(spacePause):
		}
		r.measure()
	}
}

// spend takes bytes from the credit, and reports whether there were enough. If the change log cannot be shortened
// any more, or WhenFull has set no function, it always succeeds.
func (m *reclaimer) spend(bytes int64) bool {
	m.Lock()
	defer m.Unlock()
	if m.credit < bytes && !m.logExhausted && m.shorten != nil {
		m.creditNeeded = max(m.creditNeeded, bytes)
		return false
	}
	m.credit -= bytes
	return true
}

// spendUnchecked records a commit with deletes while the disk is nearly full. The commit waits for no credit; its
// bytes are subtracted, so the log is shortened by as many once the disk is full.
func (m *reclaimer) spendUnchecked(w *work) {
	m.recordDeletes(w)
	m.Lock()
	defer m.Unlock()
	m.credit -= int64(w.buf.Bytes())
}

// recordDeletes adds the keys that a commit deletes to the ranges that reclaim compacts.
func (m *reclaimer) recordDeletes(w *work) {
	m.Lock()
	defer m.Unlock()
	for key, value := range w.buf.All() {
		if value == nil {
			m.spans.add(storage.Range{Start: key, End: key})
		}
	}
}

// add extends the range of the family of r's keys, so that it includes r.
func (all *spans) add(r storage.Range) {
	if *all == nil {
		*all = spans{}
	}
	of := family(r.Start)
	span, ok := (*all)[of]
	if !ok || bytes.Compare(r.Start, span.Start) < 0 {
		span.Start = bytes.Clone(r.Start)
	}
	if bytes.Compare(r.End, span.End) >= 0 {
		span.End = append(bytes.Clone(r.End), 0)
	}
	(*all)[of] = span
}

// reclaim is the goroutine that frees space while the disk is full and commits need it. In rounds, at most two a
// second, it shortens the change log, flushes the deletes, and compacts their ranges. It returns at Close.
func (s *store) reclaim() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.stopped.Go(func() {
		<-s.stop
		cancel()
	})
	for {
		select {
		case <-s.stop:
			return
		case <-s.diskSpace.reclaimNeeded:
		}
		if s.diskSpace.full() && !s.diskSpace.isBlocked() {
			s.reclaimRound(ctx)
			if s.reclaimer.pending() {
				signal(s.diskSpace.reclaimNeeded)
			}
		} else if !s.diskSpace.full() {
			s.reclaimSteps.Store(nil)
		}
		select {
		case <-s.stop:
			return
		case <-time.After(reclaimEvery):
		}
	}
}

// reclaimRound runs one round of reclaim. If there is too little space for a compaction and no older snapshot is
// open, it shortens the change log also without need of credit: the log's tables are deleted without being read.
// It divides the deleted ranges into steps, and flushed tables end at the steps: a table of deletes across a whole
// collection could only be merged with all of it.
func (s *store) reclaimRound(ctx context.Context) {
	r, m := &s.diskSpace, &s.reclaimer
	r.releaseBallastIfLow(0)
	m.Lock()
	step := max(min(max(r.reservePart(4), 1<<20), compactBytes), m.creditNeeded)
	m.creditNeeded = 0
	barred := !r.hasLeft(r.reservePart(2)) && s.oldestRead() >= s.Latest()
	shorten, due := m.shorten, m.credit < step || barred
	if due {
		step = min(step-min(m.credit, 0), compactBytes)
	}
	m.Unlock()
	shortened := int64(0)
	if due && shorten != nil {
		n, err := shorten(ctx, step)
		if err != nil && ctx.Err() == nil {
			r.log.Errorf("the change log cannot be shortened: %v", err)
		}
		m.Lock()
		m.credit, m.logExhausted = m.credit+n, n == 0
		if m.logExhausted {
			m.credit = max(m.credit, 0)
		}
		m.Unlock()
		shortened = n
	}
	// Each flush adds a sublevel to level 0, and writes stall when there are too many.
	if s.db.Metrics().Levels[0].Sublevels > flushDepth {
		return
	}
	deleted, drops := m.take(s.oldestRead(), r.hasLeft(r.reservePart(2)))
	if !drops && shortened == 0 && len(deleted) == 0 {
		return
	}
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		return
	}
	low := slices.Concat(levels[bottom-1], levels[bottom]) // the levels above are small
	slices.SortFunc(low, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Largest.UserKey, b.Largest.UserKey) })
	var steps []storage.Range
	for _, span := range deleted {
		steps = append(steps, s.steps(span, low)...)
	}
	slices.SortFunc(steps, func(a, b storage.Range) int { return bytes.Compare(a.Start, b.Start) })
	s.reclaimSteps.Store(&steps)
	s.anchor.release()
	latest, kept, err := s.touch(deleted, levels[bottom])
	if err != nil {
		return
	}
	if err := s.db.Flush(); err != nil {
		return
	}
	r.measure()
	for _, step := range steps {
		r.compactionNeeds.Store(0)
		s.anchor.release()
		err := s.compact(ctx, step)
		if err != nil && ctx.Err() == nil && r.releaseBallast() {
			err = s.compact(ctx, step)
		}
		switch {
		case err != nil:
			m.addSpan(step)
		case kept:
			m.deferSpan(step, latest)
		}
	}
	r.measure()
}

// oldestRead returns the timestamp of the oldest state that has a reader, or of the newest state. Compactions
// remove no versions that it sees.
func (s *store) oldestRead() storage.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snaps.oldest()
}

// take removes and returns the ranges to compact in this round, and reports whether a drop needs a flush. It
// returns no ranges while there is no space for a compaction. The deferred ranges are included if the oldest open
// snapshot, at timestamp oldest, is new enough.
func (m *reclaimer) take(oldest storage.Timestamp, space bool) (deleted spans, drops bool) {
	m.Lock()
	defer m.Unlock()
	drops, m.flushNeeded = m.flushNeeded, false
	if !space {
		return nil, drops
	}
	if oldest >= m.deferredUntil {
		for _, span := range m.deferred {
			m.spans.add(span)
		}
		m.deferred = nil
	}
	deleted, m.spans = m.spans, nil
	return deleted, drops
}

// requestFlush requests a flush of the memtables in the next round of reclaim.
func (m *reclaimer) requestFlush() {
	m.Lock()
	defer m.Unlock()
	m.flushNeeded = true
}

// addSpan adds a range of deleted keys to those that the next round of reclaim compacts.
func (m *reclaimer) addSpan(span storage.Range) {
	m.Lock()
	defer m.Unlock()
	m.spans.add(span)
}

// deferSpan adds a compacted range that reclaim compacts again once no snapshot older than latest is open, because
// such a snapshot has kept its deleted versions.
func (m *reclaimer) deferSpan(span storage.Range, latest storage.Timestamp) {
	m.Lock()
	defer m.Unlock()
	m.deferred.add(span)
	m.deferredUntil = latest
}

// pending reports whether reclaim has ranges left to compact, deferred ones included.
func (m *reclaimer) pending() bool {
	m.Lock()
	defer m.Unlock()
	return len(m.spans)+len(m.deferred) > 0
}

// steps divides a range into parts for one compaction each, of limited size, so that a compaction needs no more
// space than there is. The parts end where tables end; tables is sorted by these ends.
func (s *store) steps(span storage.Range, tables []pebble.SSTableInfo) (steps []storage.Range) {
	start, size := span.Start, int64(0)
	for _, table := range tables {
		end := append(bytes.Clone(table.Largest.UserKey), 0)
		if bytes.Compare(end, start) <= 0 || bytes.Compare(end, span.End) >= 0 {
			continue
		}
		if size += int64(table.Size); size >= min(compactBytes, max(s.diskSpace.reservePart(4), 1<<20)) {
			steps = append(steps, storage.Range{Start: start, End: end})
			start, size = end, 0
		}
	}
	return append(steps, storage.Range{Start: start, End: span.End})
}

// touch deletes a key that does not exist inside each table of the last level that overlaps the ranges and holds
// deletes, so that Compact rewrites these tables. The reasons: Compact rewrites a table of the last level only if
// tables above overlap with it, and Pebble does not retry its own compaction of a single table that failed for
// lack of space, because it caches that the table is being compacted. If a snapshot before latest, the timestamp
// of the newest state, is open, a compaction would keep what was deleted: then touch does nothing and kept is
// true.
func (s *store) touch(deleted spans, last []pebble.SSTableInfo) (latest storage.Timestamp, kept bool, err error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if latest = s.Latest(); s.oldestRead() < latest {
		return latest, true, nil
	}
	for _, t := range last {
		smallest, largest := t.Smallest.UserKey, t.Largest.UserKey
		within := false
		for _, span := range deleted {
			within = within || bytes.Compare(smallest, span.End) < 0 && bytes.Compare(span.Start, largest) <= 0
		}
		if !within || t.Properties == nil || t.Properties.NumDeletions == 0 {
			continue
		}
		for _, key := range [][]byte{smallest, append(bytes.Clone(smallest), 0)} {
			if _, err := s.read(key); bytes.Compare(key, largest) > 0 || err == nil {
				continue
			} else if !errors.Is(err, storage.ErrNotFound) {
				return latest, false, err
			}
			if err := b.Delete(key, nil); err != nil {
				return latest, false, s.translate(err)
			}
			break
		}
	}
	if !b.Empty() {
		err = s.translate(s.db.Apply(b, pebble.NoSync))
	}
	return latest, false, err
}

// compact compacts a range of keys within ten seconds (compactPatience). If there is too little disk space to
// start, it returns errNoSpace.
func (s *store) compact(ctx context.Context, r storage.Range) error {
	if !s.diskSpace.mayCompact() {
		return errNoSpace
	}
	ctx, cancel := context.WithTimeout(ctx, compactPatience)
	defer cancel()
	return s.db.Compact(ctx, r.Start, r.End, false)
}

// spanPolicy implements Pebble's SpanPolicyFunc: it returns the key at which a table that begins with key has to
// end. That is the end of the key's family or, while reclaim frees space, the start of its next step.
func (s *store) spanPolicy(key []byte) (pebble.SpanPolicy, []byte, error) {
	policy, end, err := familyPolicy(key)
	if cuts := s.reclaimSteps.Load(); cuts != nil {
		i, _ := slices.BinarySearchFunc(*cuts, key, func(c storage.Range, key []byte) int { return cmp.Or(bytes.Compare(c.Start, key), -1) })
		if i < len(*cuts) && (end == nil || bytes.Compare((*cuts)[i].Start, end) < 0) {
			end = (*cuts)[i].Start
		}
	}
	return policy, end, err
}
