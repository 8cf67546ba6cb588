package pebblekv

import (
	"bytes"
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// compactPiece is the approximate size of the tables that one step of Compact rewrites, counted in memtables. By
// default that is 64 MiB, which takes a common disk less than a second.
const compactPiece = 2

// bottom is the number of Pebble's last level. It holds one version of a key at most, unless a snapshot needs
// more.
const bottom = 6

// RangeBytes implements storage.Compactor.
func (s *store) RangeBytes(ctx context.Context, r storage.Range) (uint64, error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if r = clip(r); r.Empty() {
		return 0, nil
	}
	n, err := s.db.EstimateDiskUsage(r.Start, r.End)
	return n, s.translate(err)
}

// Reclaimable implements storage.Compactor.
func (s *store) Reclaimable(ctx context.Context, r storage.Range, live int64) (uint64, error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if r = clip(r); r.Empty() {
		return 0, nil
	}
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(r.Start, r.End), pebble.WithProperties(), pebble.WithApproximateSpanBytes())
	if err != nil {
		return 0, s.translate(err)
	}
	var disk, raw, entries, deletions float64
	for _, tables := range levels {
		for _, t := range tables {
			if t.Properties == nil || t.Size == 0 {
				continue
			}
			part := min(1, float64(t.ApproximateSpanBytes)/float64(t.Size))
			p := t.Properties.CommonProperties
			disk += part * float64(t.Size)
			raw += part * float64(p.RawKeySize+p.RawValueSize)
			entries += part * float64(p.NumEntries)
			deletions += part * float64(p.NumDeletions)
		}
	}
	dead := 0.0
	if entries > 0 {
		dead = min(1, 2*deletions/entries) // after a compaction, the deleted version and its tombstone are both gone
	}
	if live >= 0 && raw > 0 {
		dead = max(0, 1-float64(live)/raw)
	}
	return uint64(disk * dead), nil
}

// flush writes the memtables into tables, and waits for that. If ctx ends first, it returns the cause of ctx, and
// the flush goes on in the background.
func (s *store) flush(ctx context.Context) error {
	if s.o.ReadOnly {
		return storage.ErrNotWritable
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return s.translate(err)
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Compact implements storage.Compactor. It compacts the range piece by piece. If the disk becomes full, it stops
// and returns ErrDiskFull.
func (s *store) Compact(ctx context.Context, r storage.Range, progress func(bytes int64)) (freed int64, err error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if r = clip(r); r.Empty() {
		return 0, nil
	}
	ctx, stop := s.untilDiskFull(ctx)
	defer stop()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	s.anchor.release() // the snapshot of the anchor would keep versions deleted a moment ago
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	before, err := s.db.EstimateDiskUsage(r.Start, r.End)
	if err != nil {
		return 0, s.translate(err)
	}
	pieces, err := s.pieces(r)
	if err != nil {
		return 0, err
	}
	for _, p := range pieces {
		if err = s.db.Compact(ctx, p.Start, p.End, false); err != nil {
			break
		}
		if progress != nil {
			progress(p.bytes)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	after, sized := s.db.EstimateDiskUsage(r.Start, r.End)
	if err == nil {
		err = sized
	}
	return max(0, int64(before)-int64(after)), s.translate(err)
}

// untilDiskFull returns a context that is cancelled with cause ErrDiskFull when the disk is full, which it checks
// at once and every 100 ms, because Compact would use up the reserve. The caller calls stop.
func (s *store) untilDiskFull(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if s.diskSpace.full() {
		cancel(storage.ErrDiskFull)
	}
	look := time.NewTicker(100 * time.Millisecond)
	go func() {
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if s.diskSpace.full() {
					cancel(storage.ErrDiskFull)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// piece is a part of a key range that Compact compacts in one step.
type piece struct {
	storage.Range
	bytes int64 // of tables
}

// pieces divides a range into pieces of about compactPiece each. They end where tables of the last level end, so
// that no two pieces rewrite the same table.
func (s *store) pieces(r storage.Range) (list []piece, err error) {
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(r.Start, r.End), pebble.WithApproximateSpanBytes())
	if err != nil {
		return nil, s.translate(err)
	}
	total, low := int64(0), int64(0)
	for level, tables := range levels {
		for _, t := range tables {
			total += int64(t.ApproximateSpanBytes)
			if level == bottom {
				low += int64(t.ApproximateSpanBytes)
			}
		}
	}
	if total == 0 {
		return nil, nil
	}
	// The sizes of pieces are computed as if the tables of the other levels were spread evenly over the pieces.
	scale := 1.0
	if low > 0 {
		scale = float64(total) / float64(low)
	}
	from, size, most := r.Start, 0.0, float64(compactPiece*s.o.MemtableBytes)
	for _, t := range levels[bottom] {
		end := t.Largest.UserKey
		size += float64(t.ApproximateSpanBytes) * scale
		if size < most || bytes.Compare(end, r.End) >= 0 || bytes.Compare(from, end) >= 0 {
			continue
		}
		list = append(list, piece{storage.Range{Start: from, End: bytes.Clone(end)}, int64(size)})
		from, size = append(bytes.Clone(end), 0), 0
	}
	return append(list, piece{storage.Range{Start: from, End: r.End}, int64(size)}), nil
}
