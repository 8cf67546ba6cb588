package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/txnlock"

	"github.com/cantledb/cantle/storage"
)

// A range that nobody uses any more is noted first, and destroyed when nobody can reach what
// is in it:
//
//   - no snapshot: the safe point has passed the time of the note, so whoever reads an older
//     state, such as a cursor from before the drop, is refused, before and after each read;
//   - no late commit: a transaction from before the safe point is refused by its fence;
//   - no lock, which a dead writer has left and which would bring a key back: those of the
//     range are resolved, whoever's they are.
//
// It is destroyed on each store of the cluster by itself, files and all, past Raft. Done again
// it does no harm, and the note goes last: a server that dies on the way leaves it to the next.

// DeleteRange implements storage.Store: the range is noted. Until it is destroyed its keys can be seen.
func (s *store) DeleteRange(ctx context.Context, r storage.Range) error {
	if err := s.check(ctx); err != nil || r.Empty() {
		return err
	}
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	if err := s.lease.covers(ctx, s, now); err != nil {
		return err
	}
	d := dropped{Range: r, since: now}
	return s.change(ctx, []placed{{s.keys.drop(r), d.note()}}, nil)
}

// dropped is a range that nobody has used since a time.
type dropped struct {
	storage.Range
	since uint64
}

// drop is the key of the note of a range: that of the same range is the same.
func (l layout) drop(r storage.Range) []byte {
	key := append(l.in(spaceDrop, nil), escape(r.Start, true)...)
	if r.End != nil {
		key = append(append(key, 1), r.End...)
	}
	return key
}

// note is the value beside the key: the time, how long the start is, the start, and the end
// if there is one after a byte.
func (d dropped) note() []byte {
	b := binary.BigEndian.AppendUint64(nil, d.since)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(d.Start))), d.Start...)
	if d.End != nil {
		b = append(append(b, 1), d.End...)
	}
	return b
}

// droppedOf reads a note. Errors: ErrFormat.
func droppedOf(b []byte) (d dropped, err error) {
	n := 0
	if len(b) >= 12 {
		n = int(binary.BigEndian.Uint32(b[8:]))
	}
	if len(b) < 12+n {
		return d, fmt.Errorf("%w: the note of a range has %d bytes", storage.ErrFormat, len(b))
	}
	d.since = binary.BigEndian.Uint64(b)
	d.Start = bytes.Clone(b[12 : 12+n])
	if rest := b[12+n:]; len(rest) > 0 {
		d.End = append([]byte{}, rest[1:]...)
	}
	return d, nil
}

// destroyPatience is how long one range may take: stores remove whole files, region by region.
const destroyPatience = 5 * time.Minute

// destroyDropped destroys the ranges that nobody has used since before the safe point.
func (s *store) destroyDropped(ctx context.Context, point uint64) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	start, end := s.keys.space(spaceDrop)
	for start != nil {
		p, err := s.page(ctx, now, pageWant{start: start, end: end, rows: batchKeysMax})
		if err != nil {
			return err
		}
		start = p.next
		for i, key := range p.keys {
			d, err := droppedOf(p.values[i])
			if err != nil {
				return err
			}
			if d.since >= point {
				continue // somebody may read what was there
			}
			if err := s.destroyOne(ctx, key, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroyOne destroys a range with the chunks of its values, and forgets it.
func (s *store) destroyOne(ctx context.Context, key []byte, d dropped) error {
	for _, bounds := range []func(storage.Range) (start, end []byte){s.keys.users, s.keys.chunks} {
		start, end := bounds(d.Range)
		if err := s.destroy(ctx, start, end); err != nil {
			return err
		}
	}
	if err := s.change(ctx, nil, [][]byte{key}); err != nil {
		return err
	}
	s.destroyed.Add(1)
	return nil
}

// rangeLocks resolves the locks of a range and no others: the client lists those of whole
// regions, and ends the transactions of all that it is given, however alive they are.
type rangeLocks struct {
	*tikv.BaseRegionLockResolver
	start, end []byte
}

// ScanLocksInOneRegion implements tikv.RegionLockResolver.
func (r rangeLocks) ScanLocksInOneRegion(bo *tikv.Backoffer, key []byte, max uint64, most uint32) ([]*txnlock.Lock, *tikv.KeyLocation, error) {
	locks, loc, err := r.BaseRegionLockResolver.ScanLocksInOneRegion(bo, key, max, most)
	return slices.DeleteFunc(locks, func(l *txnlock.Lock) bool {
		return bytes.Compare(l.Key, r.start) < 0 || bytes.Compare(l.Key, r.end) >= 0
	}), loc, err
}

// destroy removes a range of the cluster's keys, after the locks in it.
func (s *store) destroy(ctx context.Context, start, end []byte) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	e := s.errand(ctx, destroyPatience)
	defer e.end()
	_, err = tikv.ResolveLocksForRange(e, rangeLocks{tikv.NewRegionLockResolver("cantle", s.kv), start, end}, now, start, end, tikv.NewGcResolveLockMaxBackoffer, tikv.GCScanLockLimit)
	if err == nil {
		err = s.kv.UnsafeDestroyRange(e, start, end)
	}
	if err != nil && e.Err() == nil && named(err) == nil {
		return errors.Join(storage.ErrUnavailable, err)
	}
	return e.fail(err)
}
