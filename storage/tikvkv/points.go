package tikvkv

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

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
// A process that is paused does not notice that its lease expires. So after each read, a member checks
// its lease, unless the lease was just renewed by its own clocks.

// safePointKey returns the key of the row with the new safe point.
func (s *store) safePointKey() []byte { return s.keys.in(spaceOwner, []byte{ownerSafePoint}) }

// wanted returns the new safe point in the snapshot of a transaction, 0 if there is none.
func (s *store) wanted(ctx context.Context, c *transaction.KVTxn) (uint64, error) {
	stored, err := c.Get(ctx, s.safePointKey())
	if isAbsent(err) || err == nil && len(stored.Value) != 8 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(stored.Value), nil
}

// adoptSafePoint adopts the new safe point, even if there are readers before it.
func (s *store) adoptSafePoint(ctx context.Context) error {
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	stored, err := s.get(ctx, now, s.safePointKey())
	if err != nil || len(stored) != 8 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.safePoint.Store(max(s.safePoint.Load(), binary.BigEndian.Uint64(stored)))
	return nil
}

// want writes the new safe point, unless a newer one is there already, and returns the point that is
// there then.
func (s *store) want(ctx context.Context, point uint64) (uint64, error) {
	now, err := s.fetchTS(ctx)
	if err != nil {
		return 0, err
	}
	err = s.commitUnderLease(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		was, err := s.wanted(e, c)
		if err != nil || was >= point {
			point = was
			return false, err
		}
		return true, c.Set(s.safePointKey(), binary.BigEndian.AppendUint64(nil, point))
	})
	if err != nil {
		return 0, err
	}
	return point, nil
}

// commitUnderLease runs do in a transaction with start timestamp now. If do returns true, the transaction is
// committed within the lease. Errors: those of do and of a commit.
func (s *store) commitUnderLease(ctx context.Context, now uint64, do func(ctx context.Context, c *transaction.KVTxn) (commit bool, err error)) error {
	c, err := s.kv.Begin(tikv.WithStartTS(now))
	if err != nil {
		return translate(err)
	}
	f := &fence{bound: s.lease.maxCommitTS}
	c.SetRPCInterceptor(f.wrap())
	e := s.beginRequest(ctx, s.limits.commit)
	defer e.end()
	if commit, err := do(e, c); err != nil || !commit {
		return e.fail(err)
	}
	if err := c.Commit(e); err != nil {
		return f.fail(e, err)
	}
	return nil
}

// ackPollEvery is the interval at which waitAcknowledged reads the rows of members.
const ackPollEvery = 200 * time.Millisecond

// errReaders is returned if a member still reads before the new safe point.
var errReaders = errors.New("a server reads before the safe point that is wanted")

// waitAcknowledged waits until the rows of all members report the new safe point, for up to three times the length
// of a lease. Errors: errReaders; those of a read.
func (s *store) waitAcknowledged(ctx context.Context, point uint64) error {
	for wait := 3 * s.o.Lease; ; wait -= ackPollEvery {
		now, err := s.fetchTS(ctx)
		if err != nil {
			return err
		}
		list, err := s.members(ctx, now)
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

// Collect implements storage.Shared.
func (m *member) Collect(ctx context.Context) error {
	now, err := m.fetchTS(ctx)
	if err != nil {
		return err
	}
	list, err := m.members(ctx, now)
	if err != nil {
		return err
	}
	oldest := now
	for _, one := range list {
		if !one.expired(now) {
			oldest = min(oldest, one.oldestReader)
		}
	}
	point := m.safePointAt(now, min(oldest, m.oldestReader(now)))
	if m.o.KeepGarbage {
		point, err = m.externalSafePoint(ctx)
	} else {
		point, err = m.serviceSafePoint(ctx, point)
	}
	if err == nil {
		point, err = m.want(ctx, point)
	}
	if err == nil {
		err = m.waitAcknowledged(ctx, point)
	}
	switch {
	case errors.Is(err, errReaders), errors.Is(err, storage.ErrConflict):
		return nil // retried in the next run
	case err != nil:
		return err
	}
	if !m.o.KeepGarbage {
		if err := m.removeBefore(ctx, point); err != nil {
			return err
		}
	}
	return m.destroyDropped(ctx, point)
}
