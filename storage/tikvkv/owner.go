package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// owner holds the decoded row of an exclusive server.
type owner struct {
	id   []byte
	end  uint64
	name string
}

// decodeOwner decodes the row. Errors: ErrFormat.
func decodeOwner(stored []byte) (owner, error) {
	if len(stored) < 24 {
		return owner{}, fmt.Errorf("%w: the row of the owner has %d bytes", storage.ErrFormat, len(stored))
	}
	return owner{stored[:16], binary.BigEndian.Uint64(stored[16:24]), string(stored[24:])}, nil
}

// ownerKey returns the key of the row of an exclusive server.
func (l layout) ownerKey() []byte { return l.in(spaceOwner, nil) }

// acquire acquires the lease for a process that opens the store. If another server has it, acquire waits
// long enough for that server to renew it. Errors: ErrLocked, ErrFormat, ErrUnavailable, ctx.Err().
func (m *membership) acquire(ctx context.Context) error {
	seen := uint64(0) // the end of the other server's lease
	return m.cluster.retryOpen(ctx, "the row of the one server that uses it", func() error { return m.tryAcquire(ctx, &seen) })
}

// tryAcquire makes one attempt to acquire the lease; seen holds the end of the other server's lease that earlier
// attempts found. If that server has renewed its lease since, it is alive. Errors: ErrLocked, ErrFormat; errors of
// reads and commits.
func (m *membership) tryAcquire(ctx context.Context, seen *uint64) error {
	for {
		begun := m.o.Clock()
		now, err := m.oracle.fetchTS(ctx)
		if err != nil {
			return err
		}
		stored, err := m.rows.get(ctx, now, m.keys.ownerKey())
		if err != nil {
			return err
		}
		if stored != nil {
			o, err := decodeOwner(stored)
			if err != nil {
				return err
			}
			own := bytes.Equal(o.id, m.lease.id[:]) // written by an attempt that was not answered
			if !own && *seen != 0 && o.end > *seen {
				return fmt.Errorf("%w: the keyspace %s belongs to %s, which renewed its lease just now", storage.ErrLocked, m.o.Keyspace, o.name)
			}
			if !own && (o.end > now || *seen == 0 && later(o.end, staleLeaseMillis) > now) {
				*seen = o.end
				if err := pause(ctx, m.takeoverWait(o.end, now)); err != nil {
					return err
				}
				continue
			}
		}
		if m.o.Several {
			return m.join(ctx, now, begun)
		}
		if err := m.checkNoMembers(ctx, now); err != nil {
			return err
		}
		if err := m.writeOwnerRow(ctx, now); err != nil {
			return err
		}
		m.lease.renewedAt(begun)
		return nil
	}
}

// staleLeaseMillis, in milliseconds: if a lease that was not given back ended longer ago than this, it is
// taken over without a wait. Its owner could still hold it only if the oracle's time had jumped that
// far.
const staleLeaseMillis = 60_000

// takeoverWait returns how long to wait for the owner of a lease to renew it: a whole lease by this
// process's own clock, because the oracle's time may have jumped; longer if the lease ends later.
func (m *membership) takeoverWait(end, now uint64) time.Duration {
	wait := m.o.Lease
	if end > now {
		wait = max(wait, time.Duration((end-now)>>counterBits)*time.Millisecond)
	}
	return wait + 50*time.Millisecond
}

// pause waits for d. Errors: ctx.Err().
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeOwnerRow writes the row of an exclusive server in a transaction with start timestamp now, and extends the
// lease from then on. Errors: ErrConflict if another server has written the row since, or if the commit came after
// the new end of the lease; other errors of a commit; errors of formatVersion.adopt for the first row.
func (m *membership) writeOwnerRow(ctx context.Context, now uint64) error {
	end := later(now, m.o.Lease.Milliseconds())
	row := append(binary.BigEndian.AppendUint64(bytes.Clone(m.lease.id[:]), end), m.o.ServerName...)
	c, err := m.cluster.kv.Begin(tikv.WithStartTS(now))
	if err == nil {
		err = c.Set(m.keys.ownerKey(), row)
	}
	if err != nil {
		return translate(err)
	}
	f := &fence{bound: func() uint64 { return end }}
	c.SetRPCInterceptor(f.wrap())
	e := m.cluster.beginRequest(ctx, m.o.Lease)
	defer e.end()
	if m.version.current.Load() == 0 { // the first row: no other server changes the level while this one has the store
		if err := m.version.raiseExclusive(e, c); err != nil {
			return e.fail(err)
		}
	}
	if err := c.Commit(e); err != nil {
		m.version.current.Store(0)
		return f.fail(e, err)
	}
	m.lease.term.Load().end.Store(end)
	m.cluster.noteAnswer()
	return nil
}

// mine reports whether stored, the owner row as it was read, belongs to this process. A missing row means that
// another server had the store and gave it back, or that a member joined and deleted the row. Errors: ErrFormat.
func (m *membership) mine(stored []byte) (bool, error) {
	if stored == nil {
		return false, nil
	}
	o, err := decodeOwner(stored)
	return err == nil && bytes.Equal(o.id, m.lease.id[:]), err
}

// checkNoMembers returns ErrLocked if a member holds a lease, because an exclusive server admits no member. Errors:
// ErrLocked; errors of reads.
func (m *membership) checkNoMembers(ctx context.Context, now uint64) error {
	list, err := m.rows.members(ctx, now)
	for _, one := range list {
		if !one.expired(now) {
			return fmt.Errorf("%w: the keyspace %s is shared by several, such as %s", storage.ErrLocked, m.o.Keyspace, one.Name)
		}
	}
	return err
}

// hasOwnerRow reports whether there is an owner row in the snapshot of a transaction.
func (m *membership) hasOwnerRow(ctx context.Context, c *transaction.KVTxn) (bool, error) {
	if _, err := c.Get(ctx, m.keys.ownerKey()); isAbsent(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}
