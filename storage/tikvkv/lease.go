package tikvkv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// lease is the right of this process to use the store until a PD timestamp. It is stored in a row of
// the cluster and renewed every third of its length. No commit and no snapshot is later than the end
// of the lease. So a process that was paused, and continues when another one has the store, neither
// writes nor reads what that one has written. All ends are PD timestamps: safety does not depend on
// the clock of any server.
//
// If several servers share the store, each member has a row of its own, and no peer takes over its
// lease. If a member renews a lease that had expired, a new lease term begins, and transactions begun
// in an earlier term are not committed.
type lease struct {
	id   [16]byte
	term atomic.Pointer[leaseTerm]
	lost atomic.Bool // another process has the store

	lastRenewal renewal // when the lease was renewed, by the clocks of this process

	mu      sync.Mutex // serializes writes of the row; guards the fields below
	message []byte     // Message of this member's row
	about   func() []byte
	row     uint64 // the end of the lease that the row has
	rejoin  func(context.Context, storage.Reader) error
}

// leaseTerm is a lease term: a time without a gap during which this process holds its lease. end is a PD
// timestamp.
type leaseTerm struct{ end atomic.Uint64 }

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

// maxCommitTS returns the newest commit time that the lease allows.
func (l *lease) maxCommitTS() uint64 { return l.term.Load().end.Load() }

// expired reports whether the lease has expired at a PD timestamp.
func (l *lease) expired(ts uint64) bool { return ts > l.maxCommitTS() }

// waitUntilCovers waits until the lease includes a PD timestamp. If ctx is of storage.NoLeaseWait, it returns
// ErrLeaseExpired at once. Errors: ErrUnavailable, ErrLeaseExpired, ctx.Err().
func (l *lease) waitUntilCovers(ctx context.Context, s *store, ts uint64) error {
	if !l.expired(ts) {
		return nil
	}
	if !storage.MayWaitForLease(ctx) {
		return storage.ErrLeaseExpired
	}
	deadline := time.NewTimer(s.limits.read)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for l.expired(ts) {
		if l.lost.Load() {
			return fmt.Errorf("%w: another server has taken over the keyspace %s", storage.ErrUnavailable, s.o.Keyspace)
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return fmt.Errorf("%w: the lease of this server is over and cannot be renewed", storage.ErrUnavailable)
		case <-s.stop:
			return storage.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// acquire acquires the lease for a process that opens the store. If another server has it, take waits
// long enough for that server to renew it. Errors: ErrLocked, ErrUnavailable, ctx.Err().
func (l *lease) acquire(ctx context.Context, s *store) error {
	_, _ = rand.Read(l.id[:]) // it never fails
	l.term.Store(&leaseTerm{})
	seen := uint64(0) // the end of the other server's lease
	return s.retryOpen(ctx, "the row of the one server that uses it", func() error { return l.tryAcquire(ctx, s, &seen) })
}

// tryAcquire is one attempt to acquire the lease; seen holds the end of the other server's lease that
// earlier attempts found. Errors: ErrLocked; those of reads and commits.
func (l *lease) tryAcquire(ctx context.Context, s *store, seen *uint64) error {
	for {
		begun := s.o.Clock()
		now, err := s.fetchTS(ctx)
		if err != nil {
			return err
		}
		stored, err := s.get(ctx, now, s.keys.in(spaceOwner, nil))
		if err != nil {
			return err
		}
		if stored != nil {
			o, err := decodeOwner(stored)
			if err != nil {
				return err
			}
			own := bytes.Equal(o.id, l.id[:]) // written by an attempt that was not answered
			if !own && *seen != 0 && o.end > *seen {
				return fmt.Errorf("%w: the keyspace %s belongs to %s, which renewed its lease just now", storage.ErrLocked, s.o.Keyspace, o.name)
			}
			if !own && (o.end > now || *seen == 0 && later(o.end, staleLeaseMillis) > now) {
				*seen = o.end
				if err := pause(ctx, s.takeoverWait(o.end, now)); err != nil {
					return err
				}
				continue
			}
		}
		begin := l.write
		if s.o.Several {
			begin = l.join
		} else if err := l.checkNoMembers(ctx, s, now); err != nil {
			return err
		}
		if err := begin(ctx, s, now); err != nil {
			return err
		}
		l.lastRenewal.at(begun)
		return nil
	}
}

// staleLeaseMillis, in milliseconds: if a lease that was not given back ended longer ago than this, it is
// taken over without a wait. Its owner could still hold it only if the oracle's time had jumped that
// far.
const staleLeaseMillis = 60_000

// takeoverWait returns how long to wait for the owner of a lease to renew it: a whole lease by this
// process's own clock, because the oracle's time may have jumped; longer if the lease ends later.
func (s *store) takeoverWait(end, now uint64) time.Duration {
	wait := s.o.Lease
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

// write writes the row of an exclusive server in a transaction with start timestamp now, and extends
// the lease from then on. Errors: ErrConflict if another server has written the row since, or if the
// commit came after the new end of the lease; others of a commit.
func (l *lease) write(ctx context.Context, s *store, now uint64) error {
	end := later(now, s.o.Lease.Milliseconds())
	row := append(binary.BigEndian.AppendUint64(bytes.Clone(l.id[:]), end), s.o.ServerName...)
	c, err := s.kv.Begin(tikv.WithStartTS(now))
	if err == nil {
		err = c.Set(s.keys.in(spaceOwner, nil), row)
	}
	if err != nil {
		return translate(err)
	}
	f := &fence{bound: func() uint64 { return end }}
	c.SetRPCInterceptor(f.wrap())
	e := s.beginRequest(ctx, s.o.Lease)
	defer e.end()
	if s.formatVersion.Load() == 0 { // the first row: no other server changes the level while this one has the store
		if err := s.raiseVersionExclusive(e, c); err != nil {
			return e.fail(err)
		}
	}
	if err := c.Commit(e); err != nil {
		s.formatVersion.Store(0)
		return f.fail(e, err)
	}
	l.term.Load().end.Store(end)
	s.noteAnswer()
	return nil
}

// renewLoop renews the lease until the store is closed or another server has taken it over.
func (l *lease) renewLoop(ctx context.Context, s *store) {
	every := time.NewTicker(s.o.Lease / 3)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-s.stop:
			return
		}
		err := l.again(ctx, s)
		if l.lost.Load() {
			s.o.Fatal(fmt.Sprintf("another server has taken over the keyspace %s", s.o.Keyspace))
			return
		}
		if errors.Is(err, storage.ErrFormat) { // the format was raised while this process was paused
			s.o.Fatal(err.Error())
			return
		}
		if err != nil && !errors.Is(err, storage.ErrClosed) {
			s.o.Log(true, "the lease of the keyspace is not renewed: "+err.Error())
		}
	}
}

// again renews the lease once.
func (l *lease) again(ctx context.Context, s *store) error {
	if s.o.Several {
		if err := l.renewNow(ctx, s); err != nil {
			return err
		}
		if err := s.raiseVersion(ctx); err != nil && !errors.Is(err, storage.ErrConflict) {
			return err
		}
		return nil
	}
	begun := s.o.Clock()
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	stored, err := s.get(ctx, now, s.keys.in(spaceOwner, nil))
	if err != nil {
		return err
	}
	if mine, err := l.mine(stored); err != nil {
		return err
	} else if !mine {
		l.term.Load().end.Store(0)
		l.lost.Store(true)
		return storage.ErrLocked
	}
	if err := l.write(ctx, s, now); err != nil {
		return err
	}
	l.lastRenewal.at(begun)
	return nil
}

// mine reports whether the row belongs to this process. A missing row means that another server had
// the store and gave it back. Errors: ErrFormat.
func (l *lease) mine(stored []byte) (bool, error) {
	if stored == nil {
		return false, nil
	}
	o, err := decodeOwner(stored)
	return err == nil && bytes.Equal(o.id, l.id[:]), err
}

// release deletes the row, so that the next server need not wait until the lease expires.
func (l *lease) release(s *store) error {
	if l.lost.Load() || l.maxCommitTS() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	e := s.beginRequest(ctx, 2*time.Second)
	defer e.end()
	c, err := s.kv.Begin()
	if err != nil {
		return nil // the lease expires by itself
	}
	key := s.leaseKey()
	row, err := c.Get(e, key)
	if err != nil {
		return nil
	}
	if o, err := decodeOwner(row.Value); !s.o.Several && (err != nil || !bytes.Equal(o.id, l.id[:])) {
		return nil
	}
	if err := c.Delete(key); err == nil {
		_ = c.Commit(e)
	}
	return nil
}
