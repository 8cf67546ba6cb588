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
	reclaimEvery = 500 * time.Millisecond // at most
	deleteWaits  = 2 * time.Second        // for room, before it is refused: its snapshot keeps what is deleted meanwhile
	compactBytes = 64 << 20               // of the last level, in one step

	compactPatience = 10 * time.Second // for one step
)

// making is what is known of who makes room on a full disk. A deleted document goes into the
// change log whole, from where its way back is read: so the log is shortened by as much first.
type making struct {
	sync.Mutex
	shorten func(ctx context.Context, bytes int64) (int64, error)
	credit  int64             // bytes by which the log was shortened, less those that deletes wrote; below 0 it is to be shortened by as many
	wanted  int64             // what a delete found too little credit for
	dry     bool              // the log cannot be shortened
	drops   bool              // a commit that is admitted on any disk, perhaps a drop, is to be written out
	spans   spans             // of keys deleted
	held    spans             // compacted while somebody read an earlier state, which keeps what was deleted
	heldTo  storage.Timestamp // when no state before it is read, held is compacted again
}

// spans are ranges of keys by their family.
type spans map[string]storage.Range

// WhenFull sets what shortens the change log by at least so many bytes, if there are as many,
// and says by how many.
func (s *store) WhenFull(shorten func(ctx context.Context, bytes int64) (int64, error)) {
	s.making.Lock()
	defer s.making.Unlock()
	s.making.shorten = shorten
}

// watchRoom looks at the disk and at what memtables will take of it, and has the ballast made
// where there is room for it.
func (s *store) watchRoom() {
	r := &s.room
	if r.files == nil {
		return
	}
	r.look()
	reserve := r.reserve()
	if reserve == 0 {
		return
	}
	m := s.db.Metrics()
	r.owed.Store(int64(m.MemTable.Size))
	r.settle(int64(m.DiskSpaceUsage()))
	if !r.above(reserve) && !s.kept.on.Load() {
		s.dropLogs()
	}
}

// settle makes the ballast as large as it is to be for a store of so many bytes, if there is room.
func (r *room) settle(store int64) {
	b := &r.ballast
	want, size := b.wanted(r.total.Load(), store), b.bytes()
	if want > size && !b.failed.Load() && r.left() >= r.reserve()+want-size {
		if err := b.grow(want); err != nil {
			b.failed.Store(true)
			time.AfterFunc(ballastAgain, func() { b.failed.Store(false) })
			r.log.Errorf("the ballast cannot be made: %v", err)
		}
		r.look()
	}
	b.lacking.Store(max(want-b.bytes(), 0))
}

// dropLogs deletes logs that are kept to be used again, but one.
func (s *store) dropLogs() {
	logs, err := s.kept.list()
	if err != nil {
		return
	}
	// Counted afterwards: those listed that are in use are among the newest so many.
	inUse := int(s.db.Metrics().WAL.Files)
	for _, l := range logs[:max(len(logs)-inUse-1, 0)] {
		_ = s.o.FS.Remove(s.kept.path(l))
	}
}

// admit lets a commit through on a disk that is full. One that makes room waits for what was
// deleted before it to be gone. Errors: ErrDiskFull, the context's.
func (s *store) admit(ctx context.Context, w *work, adds, essential bool) error {
	r := &s.room
	switch {
	case r.stuck() || adds && !essential:
		poke(r.asked)
		return storage.ErrDiskFull
	case essential:
		s.making.drop()
		poke(r.asked)
		return nil
	}
	need := int64(w.buf.Bytes())
	for waited := time.Duration(0); ; waited += roomPause {
		if !r.full() {
			return nil
		}
		if (r.left() >= r.part(2) || r.relieve(0)) && s.making.spend(need) {
			s.making.note(w)
			poke(r.asked)
			return nil
		}
		poke(r.asked)
		if waited >= deleteWaits {
			return storage.ErrDiskFull
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.stop:
			return storage.ErrClosed
		case <-time.After(roomPause):
		}
		r.look()
	}
}

// spend takes bytes of the credit, and reports whether there were as many.
func (m *making) spend(bytes int64) bool {
	m.Lock()
	defer m.Unlock()
	if m.credit < bytes && !m.dry && m.shorten != nil {
		m.wanted = max(m.wanted, bytes)
		return false
	}
	m.credit -= bytes
	return true
}

// owe counts a commit that deletes on a disk that is about to be full. It is taken without credit, and the log is
// shortened by as much when the disk is full.
func (m *making) owe(w *work) {
	m.note(w)
	m.Lock()
	defer m.Unlock()
	m.credit -= int64(w.buf.Bytes())
}

// note takes note of the keys that a commit deletes.
func (m *making) note(w *work) {
	m.Lock()
	defer m.Unlock()
	for key, value := range w.buf.All() {
		if value == nil {
			m.spans.add(storage.Range{Start: key, End: key})
		}
	}
}

// add makes the range of a family large enough for one of it.
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

// reclaim makes room while the disk is full and somebody writes: it shortens the change log,
// writes out what was deleted, and compacts where that was.
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
		case <-s.room.asked:
		}
		if s.room.full() && !s.room.stuck() {
			s.makeRoom(ctx)
			if s.making.pending() {
				poke(s.room.asked)
			}
		} else if !s.room.full() {
			s.cuts.Store(nil)
		}
		select {
		case <-s.stop:
			return
		case <-time.After(reclaimEvery):
		}
	}
}

// makeRoom is one round of reclaim.
func (s *store) makeRoom(ctx context.Context) {
	r, m := &s.room, &s.making
	r.relieve(0)
	m.Lock()
	step := max(min(max(r.part(4), 1<<20), compactBytes), m.wanted)
	m.wanted = 0
	shorten, due := m.shorten, m.credit < step
	if due {
		step = min(step-min(m.credit, 0), compactBytes)
	}
	m.Unlock()
	if due && shorten != nil {
		n, err := shorten(ctx, step)
		if err != nil && ctx.Err() == nil {
			r.log.Errorf("the change log cannot be shortened: %v", err)
		}
		m.Lock()
		m.credit, m.dry = m.credit+n, n == 0
		if m.dry {
			m.credit = max(m.credit, 0)
		}
		m.Unlock()
	}
	deleted, flush := m.take(s.oldestRead())
	if !flush {
		return
	}
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		return
	}
	low := append(levels[bottom-1], levels[bottom]...) // all others are small
	slices.SortFunc(low, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Largest.UserKey, b.Largest.UserKey) })
	var steps []storage.Range
	for _, span := range deleted {
		steps = append(steps, s.steps(span, low)...)
	}
	// A table of deletes that reached over the whole collection could only be merged with all of it.
	slices.SortFunc(steps, func(a, b storage.Range) int { return bytes.Compare(a.Start, b.Start) })
	s.cuts.Store(&steps)
	s.anchor.lift()
	latest, kept, err := s.touch(deleted, levels[bottom])
	if err != nil {
		return
	}
	if err := s.db.Flush(); err != nil {
		return
	}
	r.look()
	for _, step := range steps {
		r.wanted.Store(0)
		s.anchor.lift()
		err := s.compact(ctx, step)
		if err != nil && ctx.Err() == nil && r.letGo() {
			err = s.compact(ctx, step)
		}
		switch {
		case err != nil:
			m.again(step)
		case kept:
			m.hold(step, latest)
		}
	}
	r.look()
}

// oldestRead is the time of the oldest state that somebody reads, the newest if nobody does.
func (s *store) oldestRead() storage.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snaps.oldest()
}

// take returns the ranges to compact in a round, when no state before a time is read, and reports whether there is
// something to be written out.
func (m *making) take(oldest storage.Timestamp) (deleted spans, flush bool) {
	m.Lock()
	defer m.Unlock()
	if oldest >= m.heldTo {
		for _, span := range m.held {
			m.spans.add(span)
		}
		m.held = nil
	}
	deleted, flush = m.spans, m.drops || len(m.spans) > 0
	m.spans, m.drops = nil, false
	return deleted, flush
}

// drop has the next round write out what was committed.
func (m *making) drop() {
	m.Lock()
	defer m.Unlock()
	m.drops = true
}

// again has a range compacted in the next round.
func (m *making) again(span storage.Range) {
	m.Lock()
	defer m.Unlock()
	m.spans.add(span)
}

// hold has a range compacted again when no state before a time is read.
func (m *making) hold(span storage.Range, latest storage.Timestamp) {
	m.Lock()
	defer m.Unlock()
	m.held.add(span)
	m.heldTo = latest
}

// pending reports that a round has left something to compact.
func (m *making) pending() bool {
	m.Lock()
	defer m.Unlock()
	return len(m.spans)+len(m.held) > 0
}

// steps divides a range where tables end, which are sorted by their ends, so that compacting a step takes no
// more than there is room for.
func (s *store) steps(span storage.Range, tables []pebble.SSTableInfo) (steps []storage.Range) {
	start, size := span.Start, int64(0)
	for _, table := range tables {
		end := append(bytes.Clone(table.Largest.UserKey), 0)
		if bytes.Compare(end, start) <= 0 || bytes.Compare(end, span.End) >= 0 {
			continue
		}
		if size += int64(table.Size); size >= min(compactBytes, max(s.room.part(4), 1<<20)) {
			steps = append(steps, storage.Range{Start: start, End: end})
			start, size = end, 0
		}
	}
	return append(steps, storage.Range{Start: start, End: span.End})
}

// touch deletes a key that does not exist inside each table of the last level that holds deletes in the ranges.
// Compact writes a table of the last level anew only where tables above overlap with it, and Pebble's own
// compactions of single tables do not come back to one that failed for lack of room, as it caches that the
// table is being compacted. While a state before latest is read, compactions would keep what was deleted: then
// nothing is done, and kept is true.
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

// compact compacts a range, unless the compaction does not come to its end in time: without room none
// is begun.
func (s *store) compact(ctx context.Context, r storage.Range) error {
	if !s.room.compacts() {
		return errNoRoom
	}
	ctx, cancel := context.WithTimeout(ctx, compactPatience)
	defer cancel()
	return s.db.Compact(ctx, r.Start, r.End, false)
}

// spans says how far a table reaches that begins with a key: to the end of its family, and while
// room is made not beyond a step.
func (s *store) spans(key []byte) (pebble.SpanPolicy, []byte, error) {
	policy, end, err := families(key)
	if cuts := s.cuts.Load(); cuts != nil {
		i, _ := slices.BinarySearchFunc(*cuts, key, func(c storage.Range, key []byte) int { return cmp.Or(bytes.Compare(c.Start, key), -1) })
		if i < len(*cuts) && (end == nil || bytes.Compare((*cuts)[i].Start, end) < 0) {
			end = (*cuts)[i].Start
		}
	}
	return policy, end, err
}
