package tikvkv

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// safePoints moves the safe point, and lets the cluster remove what is before it. gc.go has the steps
// of an exclusive server.
//
// If several servers share the store, the owner of that job moves the safe point for all, because TiKV
// itself does not refuse reads of versions that are being removed. The safe point moves in three steps:
//
//   - The owner writes the new safe point into a row. It is not after the oldest reader in any member's row, unless
//     that reader is older than readers may get.
//   - Each member reads that row when it renews its lease. If it has no reader before the new safe point, it refuses
//     such reads from then on, and reports that in its own row.
//   - The owner removes old versions once the rows of all members with a valid lease report that. A member that joins,
//     or rejoins after its lease has expired, reads the row again after writing its own, so one of the two sees the
//     other; reads that it still has from before are refused then.
//
// A process that is paused does not notice that its lease expires. So if its lease is not fresh after a read of a
// state older than the retention, a member waits for a renewal.
type safePoints struct {
	*settings
	life      *lifecycle
	cluster   *cluster
	oracle    *oracle
	snapshots *snapshots
	rows      *rows
	internal  *internalCommits
	dropped   *droppedRanges
}

// newSafePoints returns the safe points of a keyspace.
func newSafePoints(r *rows, life *lifecycle, i *internalCommits, d *droppedRanges) *safePoints {
	return &safePoints{settings: r.settings, life: life, cluster: r.cluster, oracle: r.oracle, snapshots: r.snapshots, rows: r, internal: i, dropped: d}
}

// safePointKey returns the key of the row with the new safe point.
func (l layout) safePointKey() []byte { return l.in(spaceOwner, []byte{ownerSafePoint}) }

// wantedSafePoint returns the new safe point in the snapshot of a transaction, 0 if there is none.
func (l layout) wantedSafePoint(ctx context.Context, c *transaction.KVTxn) (uint64, error) {
	stored, err := c.Get(ctx, l.safePointKey())
	if isAbsent(err) || err == nil && len(stored.Value) != 8 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(stored.Value), nil
}

// propose writes point into the row of the new safe point, which all members read, unless the row has a newer one, and
// returns the safe point that the row has then.
func (p *safePoints) propose(ctx context.Context, point uint64) (uint64, error) {
	now, err := p.oracle.fetchTS(ctx)
	if err != nil {
		return 0, err
	}
	err = p.internal.run(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		was, err := p.keys.wantedSafePoint(e, c)
		if err != nil || was >= point {
			point = was
			return false, err
		}
		return true, c.Set(p.keys.safePointKey(), binary.BigEndian.AppendUint64(nil, point))
	})
	if err != nil {
		return 0, err
	}
	return point, nil
}

// ackPollEvery is the interval at which waitAcknowledged reads the rows of members.
const ackPollEvery = 200 * time.Millisecond

// errReaders is returned if a member still reads before the new safe point.
var errReaders = errors.New("a server reads before the safe point that is wanted")

// waitAcknowledged waits until the rows of all members with a valid lease report the new safe point, for up to three
// times the length of a lease. Errors: errReaders; errors of reads.
func (p *safePoints) waitAcknowledged(ctx context.Context, point uint64) error {
	for wait := 3 * p.o.Lease; ; wait -= ackPollEvery {
		now, err := p.oracle.fetchTS(ctx)
		if err != nil {
			return err
		}
		list, err := p.rows.members(ctx, now)
		if err != nil {
			return err
		}
		behind := false
		for _, m := range list {
			behind = behind || !m.expired(now) && m.safePoint < point
		}
		if !behind {
			return nil
		}
		if wait <= 0 {
			return errReaders
		}
		if err := pause(ctx, ackPollEvery); err != nil {
			return err
		}
	}
}

// collectShared moves the safe point once, or with KeepGarbage adopts that of PD, for all members, and then destroys
// the dropped ranges that no reader can reach any more. If a member still reads before the new safe point, or a commit
// conflicts, nothing is removed until a later run, and the result is nil. Only the owner of that job calls it.
func (p *safePoints) collectShared(ctx context.Context) error {
	now, err := p.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	list, err := p.rows.members(ctx, now)
	if err != nil {
		return err
	}
	oldest := now
	for _, one := range list {
		if !one.expired(now) {
			oldest = min(oldest, one.oldestReader)
		}
	}
	point := p.safePointAt(now, min(oldest, p.snapshots.oldestReader(now)))
	if p.o.KeepGarbage {
		point, err = p.externalSafePoint(ctx)
	} else {
		point, err = p.serviceSafePoint(ctx, point)
	}
	if err == nil {
		point, err = p.propose(ctx, point)
	}
	if err == nil {
		err = p.waitAcknowledged(ctx, point)
	}
	switch {
	case errors.Is(err, errReaders), errors.Is(err, storage.ErrConflict):
		return nil // retried in the next run
	case err != nil:
		return err
	}
	if !p.o.KeepGarbage {
		if err := p.removeBefore(ctx, point); err != nil {
			return err
		}
	}
	return p.dropped.destroyBefore(ctx, point)
}
