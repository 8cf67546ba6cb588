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

// Where several processes use the store, one of them moves the safe point, and all have to know:
// the cluster itself refuses nobody who reads what is being removed. So it is moved in steps.
//
//   - The one writes in a row which safe point he wants: not beyond the oldest reader that any
//     member tells of, unless that one is older than readers may get.
//   - Each member reads that row whenever it renews its lease. If it has no readers before that
//     point it refuses those from then on, and its own row says so.
//   - The one acts when the rows of all members whose lease is not over say so. A member that joins, or
//     comes back after its lease was over, reads the row once more after its own is there, so that
//     one of the two sees the other; and what it still reads from before is refused then.
//
// A process that is asleep does not know that its lease is over. So after each read of a member
// whose lease was not renewed just now by its own clocks, it makes sure that it has one.

// pointKey is the key of the row that says which safe point is wanted.
func (s *store) pointKey() []byte { return s.keys.in(spaceOwner, []byte{ownerPoint}) }

// wanted is the safe point that is wanted in the state that a transaction reads, 0 for none.
func (s *store) wanted(ctx context.Context, c *transaction.KVTxn) (uint64, error) {
	stored, err := c.Get(ctx, s.pointKey())
	if isAbsent(err) || err == nil && len(stored.Value) != 8 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(stored.Value), nil
}

// heed goes by the safe point that is wanted now, whoever reads before it.
func (s *store) heed(ctx context.Context) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	stored, err := s.get(ctx, now, s.pointKey())
	if err != nil || len(stored) != 8 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.safePoint.Store(max(s.safePoint.Load(), binary.BigEndian.Uint64(stored)))
	return nil
}

// want writes the row, unless a newer point is wanted already, and returns what is wanted then.
func (s *store) want(ctx context.Context, point uint64) (uint64, error) {
	now, err := s.ask(ctx)
	if err != nil {
		return 0, err
	}
	err = s.underLease(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		was, err := s.wanted(e, c)
		if err != nil || was >= point {
			point = was
			return false, err
		}
		return true, c.Set(s.pointKey(), binary.BigEndian.AppendUint64(nil, point))
	})
	if err != nil {
		return 0, err
	}
	return point, nil
}

// underLease runs do in a transaction that began at a time, and commits it within the lease if do
// wants that. Errors: those of do and of a commit.
func (s *store) underLease(ctx context.Context, now uint64, do func(ctx context.Context, c *transaction.KVTxn) (commit bool, err error)) error {
	c, err := s.kv.Begin(tikv.WithStartTS(now))
	if err != nil {
		return translate(err)
	}
	f := &fence{bound: s.lease.until}
	c.SetRPCInterceptor(f.wrap())
	e := s.errand(ctx, s.limits.commit)
	defer e.end()
	if commit, err := do(e, c); err != nil || !commit {
		return e.fail(err)
	}
	if err := c.Commit(e); err != nil {
		return f.fail(e, err)
	}
	return nil
}

// agreeEvery is how often one looks whether all members go by a safe point.
const agreeEvery = 200 * time.Millisecond

// errReaders says that a member reads before the safe point that is wanted.
var errReaders = errors.New("a server reads before the safe point that is wanted")

// agree waits until all members go by a safe point: as long as they take for some renewals.
// Errors: errReaders; those of a read.
func (s *store) agree(ctx context.Context, point uint64) error {
	for wait := 3 * s.o.Lease; ; wait -= agreeEvery {
		now, err := s.ask(ctx)
		if err != nil {
			return err
		}
		list, err := s.members(ctx, now)
		if err != nil {
			return err
		}
		behind := false
		for _, m := range list {
			behind = behind || !m.over(now) && m.safe < point
		}
		if !behind {
			return nil
		}
		if wait <= 0 {
			return errReaders
		}
		if err := pause(ctx, agreeEvery); err != nil {
			return err
		}
	}
}

// Collect implements storage.Shared.
func (m *member) Collect(ctx context.Context) error {
	now, err := m.ask(ctx)
	if err != nil {
		return err
	}
	list, err := m.members(ctx, now)
	if err != nil {
		return err
	}
	oldest := now
	for _, one := range list {
		if !one.over(now) {
			oldest = min(oldest, one.oldest)
		}
	}
	point := m.safePointAt(now, min(oldest, m.oldestReader(now)))
	if m.o.KeepGarbage {
		point, err = m.othersPoint(ctx)
	} else {
		point, err = m.agreed(ctx, point)
	}
	if err == nil {
		point, err = m.want(ctx, point)
	}
	if err == nil {
		err = m.agree(ctx, point)
	}
	switch {
	case errors.Is(err, errReaders), errors.Is(err, storage.ErrConflict):
		return nil // the next time
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
