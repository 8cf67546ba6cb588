package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// membership acquires the lease of this process and renews it, in its row of the cluster. If several servers share
// the store, each member has a row under its ID; the package comment has its fields.
//
// The owner row keeps members and an exclusive server apart. An exclusive server writes that row; a
// member that joins, or rejoins after its lease expired, locks it. If both happen at once, one
// transaction conflicts, and its retry sees the other server. A member that joins after the lease of an
// exclusive server has expired deletes the owner row. If that server was only paused, it finds its row
// missing, and so detects that it has lost the store.
type membership struct {
	*settings
	life      *lifecycle
	cluster   *cluster
	oracle    *oracle
	lease     *lease
	snapshots *snapshots
	rows      *rows
	version   *formatVersion

	mu       sync.Mutex // serializes writes of the row of a member; guards the fields below
	message  []byte     // Message of this member's row
	describe func() []byte
	row      uint64 // end of the lease in the row as last written; 0 before the first write
	rejoin   func(context.Context, storage.Reader) error
}

// newMembership returns the membership of a process that has not acquired its lease yet.
func newMembership(r *rows, life *lifecycle, v *formatVersion) *membership {
	return &membership{settings: r.settings, life: life, cluster: r.cluster, oracle: r.oracle, lease: r.lease, snapshots: r.snapshots, rows: r, version: v}
}

// key returns the key of this process's row.
func (m *membership) key() []byte {
	if !m.o.Several {
		return m.keys.ownerKey()
	}
	return m.keys.memberKey(m.lease.id)
}

// publish replaces the message of this member to the other members, and renews its lease, with one write of its row.
func (m *membership) publish(ctx context.Context, message []byte) error {
	m.mu.Lock()
	m.message = bytes.Clone(message)
	m.mu.Unlock()
	return m.renewNow(ctx)
}

// setDescription sets the function that describes this member in its row.
func (m *membership) setDescription(describe func() []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.describe = describe
}

// setRejoin sets the function that is called when this member renews a lease that had expired, before the new lease
// term begins: it reads what the peers have changed meanwhile.
func (m *membership) setRejoin(f func(context.Context, storage.Reader) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rejoin = f
}

// members returns a new timestamp, and the members whose lease has not expired at that timestamp.
func (m *membership) members(ctx context.Context) (storage.Timestamp, []storage.Member, error) {
	now, err := m.oracle.fetchTS(ctx)
	if err != nil {
		return 0, nil, err
	}
	all, err := m.rows.members(ctx, now)
	var list []storage.Member
	for _, one := range all {
		if !one.expired(now) {
			list = append(list, one.Member)
		}
	}
	return timestampOf(now), list, err
}

// renewLoop renews the lease every third of its length, until the store is closed. If another server has taken the
// store over, or renew returns ErrFormat, such as after the level was raised above what this program reads, renewLoop
// calls Fatal and returns.
func (m *membership) renewLoop(ctx context.Context) {
	every := time.NewTicker(m.o.Lease / 3)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-m.life.stop:
			return
		}
		err := m.renew(ctx)
		if m.lease.lost.Load() {
			m.o.Fatal(fmt.Sprintf("another server has taken over the keyspace %s", m.o.Keyspace))
			return
		}
		if errors.Is(err, storage.ErrFormat) { // the format was raised while this process was paused
			m.o.Fatal(err.Error())
			return
		}
		if err != nil && !errors.Is(err, storage.ErrClosed) {
			m.o.Log(true, "the lease of the keyspace is not renewed: "+err.Error())
		}
	}
}

// renew renews the lease once.
func (m *membership) renew(ctx context.Context) error {
	if m.o.Several {
		if err := m.renewNow(ctx); err != nil {
			return err
		}
		if err := m.version.raise(ctx); err != nil && !errors.Is(err, storage.ErrConflict) {
			return err
		}
		return nil
	}
	begun := m.o.Clock()
	now, err := m.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	stored, err := m.rows.get(ctx, now, m.keys.ownerKey())
	if err != nil {
		return err
	}
	if mine, err := m.mine(stored); err != nil {
		return err
	} else if !mine {
		m.lease.term.Load().end.Store(0)
		m.lease.lost.Store(true)
		return storage.ErrLocked
	}
	if err := m.writeOwnerRow(ctx, now); err != nil {
		return err
	}
	m.lease.renewedAt(begun)
	return nil
}

// release gives the lease back: it deletes this server's row, so that the next server need not wait until the lease
// expires. If that fails, or the lease is lost, release returns nil all the same.
func (m *membership) release() error {
	if m.lease.lost.Load() || m.lease.maxCommitTS() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	e := m.cluster.beginRequest(ctx, 2*time.Second)
	defer e.end()
	c, err := m.cluster.kv.Begin()
	if err != nil {
		return nil // the lease expires by itself
	}
	key := m.key()
	row, err := c.Get(e, key)
	if err != nil {
		return nil
	}
	if o, err := decodeOwner(row.Value); !m.o.Several && (err != nil || !bytes.Equal(o.id, m.lease.id[:])) {
		return nil
	}
	if err := c.Delete(key); err == nil {
		_ = c.Commit(e)
	}
	return nil
}

// join writes the first row of this member. In the same transaction it deletes the rows of members whose lease has
// expired, and deletes or locks the owner row, so that it conflicts with an exclusive server that opens the store at
// the same time. Then the lease, which tryAcquire began to acquire at begun, is fresh, and join calls adoptSafePoint.
// Errors: errors of writeMemberRow and of reads.
func (m *membership) join(ctx context.Context, now uint64, begun time.Time) error {
	list, err := m.rows.members(ctx, now)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err = m.writeMemberRow(ctx, now, func(e context.Context, c *transaction.KVTxn) error {
		for _, one := range list {
			if one.expired(now) {
				if err := c.Delete(m.keys.memberKey(one.ID)); err != nil {
					return err
				}
			}
		}
		switch owned, err := m.hasOwnerRow(e, c); {
		case err != nil:
			return err
		case owned: // the lease of that server has expired
			return c.Delete(m.keys.ownerKey())
		}
		return c.LockKeysWithWaitTime(e, clientkv.LockNoWait, m.keys.ownerKey())
	})
	if err != nil {
		return err
	}
	m.lease.renewedAt(begun) // nothing renews the lease yet: a read of adoptSafePoint would wait in vain
	if err := m.adoptSafePoint(ctx); err != nil {
		m.lease.renewed.Store(nil)
		return err
	}
	return nil
}

// rejoinExpired writes the row of this member again after its lease has expired, and checks that no exclusive server
// has taken over meanwhile. mu is held. Errors: ErrLocked if one has, and then the store is lost; errors of
// writeMemberRow and of reads.
func (m *membership) rejoinExpired(ctx context.Context) error {
	now, err := m.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	_, err = m.writeMemberRow(ctx, now, func(e context.Context, c *transaction.KVTxn) error {
		owned, err := m.hasOwnerRow(e, c)
		if err != nil {
			return err
		}
		if owned {
			m.lease.lost.Store(true)
		}
		return c.LockKeysWithWaitTime(e, clientkv.LockNoWait, m.keys.ownerKey())
	})
	if m.lease.lost.Load() {
		return storage.ErrLocked
	}
	if err != nil {
		return err
	}
	return m.adoptSafePoint(ctx)
}

// renewMember renews the lease of a member. If the lease had expired before, peers may have made changes without this
// process, so renewMember first calls rejoin to read them, and then begins a new lease term. Errors: ErrLocked if the
// store is lost; errors of writeMemberRow, of reads and of rejoin.
func (m *membership) renewMember(ctx context.Context, now uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lease.lost.Load() {
		return storage.ErrLocked
	}
	before := m.lease.term.Load()
	again, err := m.writeMemberRow(ctx, now, nil)
	if err != nil || !again {
		return err
	}
	if err := m.rejoinExpired(ctx); err != nil {
		return err
	}
	if m.rejoin != nil {
		ts, err := m.oracle.fetchTS(ctx)
		if err != nil {
			return err
		}
		r := &reader{view: view{rows: m.rows, ts: ts, term: before}}
		r.Below = &r.view
		m.snapshots.add(ts)
		defer r.Close()
		if err := m.rejoin(ctx, r); err != nil {
			return err
		}
	}
	next := &leaseTerm{}
	next.end.Store(m.row)
	m.lease.term.Store(next)
	return nil
}

// writeMemberRow writes the row of this member in a transaction with the start timestamp now, together with the writes
// that the function more makes. It also adopts the stored level, and the stored safe point if no reader needs an older
// state. This extends the lease. If the lease had expired when the row was committed, the lease term is not extended,
// and again is true. mu is held. Errors: ErrConflict if the commit came after the new end of the lease; other errors of
// a commit; errors of reads, of formatVersion.adopt and of more.
func (m *membership) writeMemberRow(ctx context.Context, now uint64, more func(context.Context, *transaction.KVTxn) error) (again bool, err error) {
	end := later(now, m.o.Lease.Milliseconds())
	if end <= m.row {
		end = m.row // another renewal was faster
	}
	c, err := m.cluster.kv.Begin(tikv.WithStartTS(now))
	if err != nil {
		return false, translate(err)
	}
	f := &fence{bound: func() uint64 { return end }}
	c.SetRPCInterceptor(f.wrap())
	e := m.cluster.beginRequest(ctx, m.o.Lease)
	defer e.end()
	point, err := m.keys.wantedSafePoint(e, c)
	if err != nil {
		return false, e.fail(err)
	}
	m.snapshots.advanceSafePoint(point) // has no effect while a reader needs an older state
	if err := m.version.adopt(e, c); err != nil {
		return false, e.fail(err)
	}
	row := memberRow{Member: storage.Member{Name: m.o.ServerName, Message: m.message}, end: end, safePoint: m.snapshots.safePoint.Load(), oldestReader: m.snapshots.oldestReader(now), formatVersion: m.o.FormatVersion}
	if m.describe != nil {
		row.Description = m.describe()
	}
	if err := c.Set(m.key(), row.encode()); err != nil {
		return false, translate(err)
	}
	if more != nil {
		if err := more(context.WithoutCancel(ctx), c); err != nil {
			_ = c.Rollback()
			return false, e.fail(err)
		}
	}
	if err := c.Commit(e); err != nil {
		return false, f.fail(e, err)
	}
	at := transaction.TxnProbe{KVTxn: c}.GetCommitTS()
	m.oracle.observeTS(at)
	m.cluster.noteAnswer()
	first := m.row == 0
	m.row = end
	if was := m.lease.term.Load(); first || at <= was.end.Load() {
		was.end.Store(end)
		return false, nil
	}
	return true, nil
}

// renewNow renews the lease now, and retries after conflicts.
func (m *membership) renewNow(ctx context.Context) error {
	for {
		begun := m.o.Clock()
		now, err := m.oracle.fetchTS(ctx)
		if err != nil {
			return err
		}
		if err = m.renewMember(ctx, now); !errors.Is(err, storage.ErrConflict) {
			if err == nil {
				m.lease.renewedAt(begun)
			}
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// adoptSafePoint reads the row with the safe point on which the members agree, and refuses reads before it from then
// on, even of open readers: versions before it may have been removed while this member had no lease.
func (m *membership) adoptSafePoint(ctx context.Context) error {
	now, err := m.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	stored, err := m.rows.get(ctx, now, m.keys.safePointKey())
	if err != nil || len(stored) != 8 {
		return err
	}
	m.snapshots.forceSafePoint(binary.BigEndian.Uint64(stored))
	return nil
}
