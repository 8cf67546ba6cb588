package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/txnlock"

	"github.com/cantledb/cantle/storage"
)

// droppedRanges stores notes of key ranges that are not used any more, such as those of a dropped collection, and
// destroys the ranges later, which frees their space in the cluster.
//
// A range is first noted, and destroyed once none of these can reach its
// keys:
//
//   - snapshots: the safe point has passed the timestamp of the note, so a reader of an older state, such as a cursor
//     opened before the drop, is refused before and after each read;
//   - late commits: a transaction that began before the safe point is refused by its fence;
//   - locks: a lock that a dead writer has left could bring a key back, so all locks in the range are resolved,
//     whichever client holds them.
//
// Each TiKV store destroys the range by itself, including files, without Raft. Destroying a range twice
// is harmless. The note is deleted last: if a server dies on the way, the next one repeats the work.
type droppedRanges struct {
	*settings
	life      *lifecycle
	cluster   *cluster
	oracle    *oracle
	lease     *lease
	rows      *rows
	internal  *internalCommits
	destroyed atomic.Int64 // destroyed ranges
}

// newDroppedRanges returns the dropped ranges of a keyspace.
func newDroppedRanges(r *rows, life *lifecycle, i *internalCommits) *droppedRanges {
	return &droppedRanges{settings: r.settings, life: life, cluster: r.cluster, oracle: r.oracle, lease: r.lease, rows: r, internal: i}
}

// add implements storage.Store.DeleteRange: it stores a note that the range is not used any more. The keys of the
// range remain readable until destroyBefore destroys it.
func (d *droppedRanges) add(ctx context.Context, r storage.Range) error {
	if err := d.life.check(ctx); err != nil || r.Empty() {
		return err
	}
	now, err := d.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	if err := d.lease.waitUntilCovers(ctx, now); err != nil {
		return err
	}
	note := droppedRange{Range: r, since: now}.encode()
	return d.internal.write(ctx, []keyValue{{d.keys.dropKey(r), note}}, nil)
}

// droppedRange is a range that has not been used since a PD timestamp.
type droppedRange struct {
	storage.Range
	since uint64
}

// dropKey returns the key of the row that holds the note of a dropped range. The key depends only on the range, so a
// range that is dropped twice has one note.
func (l layout) dropKey(r storage.Range) []byte {
	key := append(l.in(spaceDrop, nil), escape(r.Start, true)...)
	if r.End != nil {
		key = append(append(key, 1), r.End...)
	}
	return key
}

// encode returns the value of a note: the timestamp, the length of the start, the start, and, if the
// range has an end, one byte and the end.
func (d droppedRange) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, d.since)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(d.Start))), d.Start...)
	if d.End != nil {
		b = append(append(b, 1), d.End...)
	}
	return b
}

// decodeDroppedRange decodes a note. Errors: ErrFormat.
func decodeDroppedRange(b []byte) (d droppedRange, err error) {
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

// destroyTimeout is the timeout for destroying one range: TiKV stores delete whole files, region by
// region.
const destroyTimeout = 5 * time.Minute

// destroyBefore destroys the dropped ranges whose notes are older than the safe point: no reader can reach the keys
// of these ranges any more.
func (d *droppedRanges) destroyBefore(ctx context.Context, point uint64) error {
	now, err := d.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	start, end := d.keys.space(spaceDrop)
	for start != nil {
		p, err := d.rows.page(ctx, now, pageRequest{start: start, end: end, rows: batchKeysMax})
		if err != nil {
			return err
		}
		start = p.next
		for i, key := range p.keys {
			dropped, err := decodeDroppedRange(p.values[i])
			if err != nil {
				return err
			}
			if dropped.since >= point {
				continue // a reader may still see the keys
			}
			if err := d.destroyOne(ctx, key, dropped.Range); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroyOne destroys a range and the chunks of its values, and deletes its note.
func (d *droppedRanges) destroyOne(ctx context.Context, key []byte, r storage.Range) error {
	for _, bounds := range []func(storage.Range) (start, end []byte){d.keys.users, d.keys.chunks} {
		start, end := bounds(r)
		if err := d.destroy(ctx, start, end); err != nil {
			return err
		}
	}
	if err := d.internal.write(ctx, nil, [][]byte{key}); err != nil {
		return err
	}
	d.destroyed.Add(1)
	return nil
}

// rangeLocks is a lock resolver of client-go that handles only the locks within one range. The client's own resolver
// lists the locks of whole regions, and ends the transactions of all locks that it gets, even if these transactions
// are alive.
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

// destroy resolves the locks in a range of the cluster's keys and destroys the range. Without that, a lock that a
// dead writer has left could bring a key back.
func (d *droppedRanges) destroy(ctx context.Context, start, end []byte) error {
	now, err := d.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	e := d.cluster.beginRequest(ctx, destroyTimeout)
	defer e.end()
	_, err = tikv.ResolveLocksForRange(e, rangeLocks{tikv.NewRegionLockResolver("cantle", d.cluster.kv), start, end}, now, start, end, tikv.NewGcResolveLockMaxBackoffer, tikv.GCScanLockLimit)
	if err == nil {
		err = d.cluster.kv.UnsafeDestroyRange(e, start, end)
	}
	if err != nil && e.Err() == nil && named(err) == nil {
		return errors.Join(storage.ErrUnavailable, err)
	}
	return e.fail(err)
}
