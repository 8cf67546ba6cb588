package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// member is a store that several servers use at the same time. Each member has a row under its ID: the
// end of its lease, its name, and its message to the other members.
//
// The owner row keeps members and an exclusive server apart. An exclusive server writes that row; a
// member that joins, or rejoins after its lease expired, locks it. If both happen at once, one
// transaction conflicts, and its retry sees the other server. A member that joins after the lease of an
// exclusive server has expired deletes the owner row. If that server was only paused, it finds its row
// missing, and so detects that it has lost the store.
type member struct{ *store }

// Member implements storage.Shared.
func (m *member) Member() storage.MemberID { return m.lease.id }

// Publish implements storage.Shared.
func (m *member) Publish(ctx context.Context, message []byte) error {
	m.lease.mu.Lock()
	m.lease.message = bytes.Clone(message)
	m.lease.mu.Unlock()
	return m.lease.renewNow(ctx, m.store)
}

// SetDescription implements storage.Shared.
func (m *member) SetDescription(about func() []byte) {
	m.lease.mu.Lock()
	defer m.lease.mu.Unlock()
	m.lease.about = about
}

// Rejoin implements storage.Shared.
func (m *member) Rejoin(f func(context.Context, storage.Reader) error) {
	m.lease.mu.Lock()
	defer m.lease.mu.Unlock()
	m.lease.rejoin = f
}

// Members implements storage.Shared.
func (m *member) Members(ctx context.Context) (storage.Timestamp, []storage.Member, error) {
	now, err := m.fetchTS(ctx)
	if err != nil {
		return 0, nil, err
	}
	all, err := m.members(ctx, now)
	var list []storage.Member
	for _, one := range all {
		if !one.expired(now) {
			list = append(list, one.Member)
		}
	}
	return timestampOf(now), list, err
}

// members lists the rows of all members at a PD timestamp, including those with an expired lease.
func (s *store) members(ctx context.Context, now uint64) (list []memberRow, err error) {
	start, end := s.keys.in(spaceOwner, []byte{ownerMember}), s.keys.in(spaceOwner, []byte{ownerMember + 1})
	for start != nil {
		p, err := s.page(ctx, now, pageRequest{start: start, end: end, rows: pageRowsMax})
		if err != nil {
			return nil, err
		}
		for i, key := range p.keys {
			one, err := decodeMemberRow(key, p.values[i])
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		start = p.next
	}
	return list, nil
}

// leaseKey returns the key of this process's row.
func (s *store) leaseKey() []byte {
	if !s.o.Several {
		return s.keys.in(spaceOwner, nil)
	}
	return s.memberKey(s.lease.id)
}

func (s *store) memberKey(id storage.MemberID) []byte {
	return s.keys.in(spaceOwner, append([]byte{ownerMember}, id[:]...))
}

// Rows beside the owner row.
const (
	ownerMember        byte = iota // the rows of members
	ownerSafePoint                 // the safe point on which members agree
	ownerFormatVersion             // the level at which all members write
)

// memberRow is the row of a member: what other members read of it, and what they need to move the safe
// point.
type memberRow struct {
	storage.Member
	end           uint64 // end of the lease
	safePoint     uint64 // the member refuses reads before this timestamp
	oldestReader  uint64 // the member has no reader before this timestamp
	formatVersion uint32 // the newest level that the member can read
}

// expired reports whether the lease has expired at a PD timestamp.
func (m *memberRow) expired(now uint64) bool { return m.end < now }

// encode returns the row as it is stored; the package comment has the format. Programs of all levels read it.
func (m *memberRow) encode() []byte {
	var row []byte
	for _, ts := range []uint64{m.end, m.safePoint, m.oldestReader} {
		row = binary.BigEndian.AppendUint64(row, ts)
	}
	row = binary.BigEndian.AppendUint32(row, m.formatVersion)
	for _, text := range [][]byte{[]byte(m.Name), m.Description} {
		row = append(binary.BigEndian.AppendUint32(row, uint32(len(text))), text...)
	}
	return append(row, m.Message...)
}

// decodeMemberRow decodes a row. Errors: ErrFormat.
func decodeMemberRow(key, row []byte) (m memberRow, err error) {
	bad := fmt.Errorf("%w: the row of a member has %d bytes", storage.ErrFormat, len(row))
	if len(row) < 28 || len(key) < len(m.ID) {
		return m, bad
	}
	copy(m.ID[:], key[len(key)-len(m.ID):])
	for i, ts := range []*uint64{&m.end, &m.safePoint, &m.oldestReader} {
		*ts = binary.BigEndian.Uint64(row[8*i:])
	}
	m.LeaseEnd = timestampOf(m.end)
	m.formatVersion = binary.BigEndian.Uint32(row[24:])
	var texts [2][]byte
	rest := row[28:]
	for i := range texts {
		if len(rest) < 4 || uint32(len(rest)-4) < binary.BigEndian.Uint32(rest) {
			return m, bad
		}
		n := 4 + binary.BigEndian.Uint32(rest)
		texts[i], rest = bytes.Clone(rest[4:n]), rest[n:]
	}
	m.Name, m.Description, m.Message = string(texts[0]), texts[1], bytes.Clone(rest)
	return m, nil
}

// checkNoMembers returns ErrLocked if a member holds a lease: this server must be exclusive. Errors: ErrLocked;
// those of a read.
func (l *lease) checkNoMembers(ctx context.Context, s *store, now uint64) error {
	list, err := s.members(ctx, now)
	for _, one := range list {
		if !one.expired(now) {
			return fmt.Errorf("%w: the keyspace %s is shared by several, such as %s", storage.ErrLocked, s.o.Keyspace, one.Name)
		}
	}
	return err
}

// join writes the first row of this member, and deletes the rows of members whose lease has expired.
// Errors: as write.
func (l *lease) join(ctx context.Context, s *store, now uint64) error {
	list, err := s.members(ctx, now)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.writeMemberRow(ctx, s, now, func(e context.Context, c *transaction.KVTxn) error {
		for _, one := range list {
			if one.expired(now) {
				if err := c.Delete(s.memberKey(one.ID)); err != nil {
					return err
				}
			}
		}
		switch owned, err := s.hasOwnerRow(e, c); {
		case err != nil:
			return err
		case owned: // the lease of that server has expired
			return c.Delete(s.keys.in(spaceOwner, nil))
		}
		return c.LockKeysWithWaitTime(e, clientkv.LockNoWait, s.keys.in(spaceOwner, nil))
	})
	if err != nil {
		return err
	}
	return s.adoptSafePoint(ctx)
}

// hasOwnerRow reports whether there is an owner row in the snapshot of a transaction.
func (s *store) hasOwnerRow(ctx context.Context, c *transaction.KVTxn) (bool, error) {
	if _, err := c.Get(ctx, s.keys.in(spaceOwner, nil)); isAbsent(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// rejoinExpired rejoins after the lease of this member has expired: no exclusive server may have taken over
// meanwhile. mu is held. Errors: ErrLocked, and then the store is lost; as write.
func (l *lease) rejoinExpired(ctx context.Context, s *store) error {
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	_, err = l.writeMemberRow(ctx, s, now, func(e context.Context, c *transaction.KVTxn) error {
		owned, err := s.hasOwnerRow(e, c)
		if err != nil {
			return err
		}
		if owned {
			l.lost.Store(true)
		}
		return c.LockKeysWithWaitTime(e, clientkv.LockNoWait, s.keys.in(spaceOwner, nil))
	})
	if l.lost.Load() {
		return storage.ErrLocked
	}
	if err != nil {
		return err
	}
	return s.adoptSafePoint(ctx)
}

// renewMember renews the lease of a member. If the lease had expired before, peers may have made changes
// without this process, so renewMember first calls rejoin to read them, and then begins a new lease term.
// Errors: as write; those of rejoin.
func (l *lease) renewMember(ctx context.Context, s *store, now uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.Load() {
		return storage.ErrLocked
	}
	before := l.term.Load()
	again, err := l.writeMemberRow(ctx, s, now, nil)
	if err != nil || !again {
		return err
	}
	if err := l.rejoinExpired(ctx, s); err != nil {
		return err
	}
	if l.rejoin != nil {
		ts, err := s.fetchTS(ctx)
		if err != nil {
			return err
		}
		r := &reader{view: view{s: s, ts: ts, term: before}}
		r.Below = &r.view
		s.addReader(ts)
		defer r.Close()
		if err := l.rejoin(ctx, r); err != nil {
			return err
		}
	}
	next := &leaseTerm{}
	next.end.Store(l.row)
	l.term.Store(next)
	return nil
}

// addReader counts a reader at a PD timestamp; release ends it.
func (s *store) addReader(ts uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[ts]++
	s.open++
}

// writeMemberRow writes the row of a member in a transaction with start timestamp now, together with the writes of
// more. This extends the lease. If the lease had expired when the row was committed, the lease term is
// not extended, and again is true. mu is held. Errors: as write.
func (l *lease) writeMemberRow(ctx context.Context, s *store, now uint64, more func(context.Context, *transaction.KVTxn) error) (again bool, err error) {
	end := later(now, s.o.Lease.Milliseconds())
	if end <= l.row {
		end = l.row // another renewal was faster
	}
	c, err := s.kv.Begin(tikv.WithStartTS(now))
	if err != nil {
		return false, translate(err)
	}
	f := &fence{bound: func() uint64 { return end }}
	c.SetRPCInterceptor(f.wrap())
	e := s.beginRequest(ctx, s.o.Lease)
	defer e.end()
	point, err := s.wanted(e, c)
	if err != nil {
		return false, e.fail(err)
	}
	s.advanceSafePoint(point) // has no effect while a reader needs an older state
	if err := s.adoptVersion(e, c); err != nil {
		return false, e.fail(err)
	}
	row := memberRow{Member: storage.Member{Name: s.o.ServerName, Message: l.message}, end: end, safePoint: s.safePoint.Load(), oldestReader: s.oldestReader(now), formatVersion: s.o.FormatVersion}
	if l.about != nil {
		row.Description = l.about()
	}
	if err := c.Set(s.leaseKey(), row.encode()); err != nil {
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
	s.observeTS(at)
	s.noteAnswer()
	first := l.row == 0
	l.row = end
	if was := l.term.Load(); first || at <= was.end.Load() {
		was.end.Store(end)
		return false, nil
	}
	return true, nil
}

// renewNow renews the lease now, and retries after conflicts.
func (l *lease) renewNow(ctx context.Context, s *store) error {
	for {
		begun := s.o.Clock()
		now, err := s.fetchTS(ctx)
		if err != nil {
			return err
		}
		if err = l.renewMember(ctx, s, now); !errors.Is(err, storage.ErrConflict) {
			if err == nil {
				l.lastRenewal.at(begun)
			}
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
