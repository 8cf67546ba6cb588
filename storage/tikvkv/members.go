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

// member is a store that several processes use at the same time. Each has a row under its
// name: the end of its lease, what it is called, and what it tells the others. The row of the
// one owner, who bears no others, is locked by whoever joins, or comes back after its lease was over, and
// written by whoever wants to be alone: of the two that come at the same time one conflicts, and sees the
// other then. Whoever joins after an owner has gone removes its row, so that the owner, should
// it only have slept, finds that it has lost the store.
type member struct{ *store }

// Member implements storage.Shared.
func (m *member) Member() storage.MemberID { return m.lease.id }

// Tell implements storage.Shared.
func (m *member) Tell(ctx context.Context, message []byte) error {
	m.lease.mu.Lock()
	m.lease.message = bytes.Clone(message)
	m.lease.mu.Unlock()
	return m.lease.renewal(ctx, m.store)
}

// Introduce implements storage.Shared.
func (m *member) Introduce(about func() []byte) {
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
	now, err := m.ask(ctx)
	if err != nil {
		return 0, nil, err
	}
	all, err := m.members(ctx, now)
	var list []storage.Member
	for _, one := range all {
		if !one.over(now) {
			list = append(list, one.Member)
		}
	}
	return timestampOf(now), list, err
}

// members lists the rows of members at a time, with those whose lease is over.
func (s *store) members(ctx context.Context, now uint64) (list []memberRow, err error) {
	start, end := s.keys.in(spaceOwner, []byte{ownerMember}), s.keys.in(spaceOwner, []byte{ownerMember + 1})
	for start != nil {
		p, err := s.page(ctx, now, pageWant{start: start, end: end, rows: pageRowsMax})
		if err != nil {
			return nil, err
		}
		for i, key := range p.keys {
			one, err := memberOf(key, p.values[i])
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		start = p.next
	}
	return list, nil
}

// leaseKey is the key of the row of this process.
func (s *store) leaseKey() []byte {
	if !s.o.Several {
		return s.keys.in(spaceOwner, nil)
	}
	return s.memberKey(s.lease.id)
}

func (s *store) memberKey(id storage.MemberID) []byte {
	return s.keys.in(spaceOwner, append([]byte{ownerMember}, id[:]...))
}

// What lies beside the row of the one owner.
const (
	ownerMember byte = iota // the rows of members
	ownerPoint              // the safe point that members agree upon
	ownerLevel              // the level at which all write
)

// memberRow is the row of a member: what others read of it, and how it stands to the safe point.
type memberRow struct {
	storage.Member
	end    uint64 // of the lease
	safe   uint64 // it reads nothing before this time
	oldest uint64 // it reads this time, or nothing as old
	level  uint32 // up to which it reads what others write
}

// over reports that the lease is over at a time.
func (m *memberRow) over(now uint64) bool { return m.end < now }

// encode is the row as it is stored: three times, the level, and three texts with their lengths but
// the last. Programs of all levels read it.
func (m *memberRow) encode() []byte {
	var row []byte
	for _, ts := range []uint64{m.end, m.safe, m.oldest} {
		row = binary.BigEndian.AppendUint64(row, ts)
	}
	row = binary.BigEndian.AppendUint32(row, m.level)
	for _, text := range [][]byte{[]byte(m.Self), m.About} {
		row = append(binary.BigEndian.AppendUint32(row, uint32(len(text))), text...)
	}
	return append(row, m.Message...)
}

// memberOf reads a row. Errors: ErrFormat.
func memberOf(key, row []byte) (m memberRow, err error) {
	bad := fmt.Errorf("%w: the row of a member has %d bytes", storage.ErrFormat, len(row))
	if len(row) < 28 || len(key) < len(m.ID) {
		return m, bad
	}
	copy(m.ID[:], key[len(key)-len(m.ID):])
	for i, ts := range []*uint64{&m.end, &m.safe, &m.oldest} {
		*ts = binary.BigEndian.Uint64(row[8*i:])
	}
	m.Until = timestampOf(m.end)
	m.level = binary.BigEndian.Uint32(row[24:])
	var texts [2][]byte
	rest := row[28:]
	for i := range texts {
		if len(rest) < 4 || uint32(len(rest)-4) < binary.BigEndian.Uint32(rest) {
			return m, bad
		}
		n := 4 + binary.BigEndian.Uint32(rest)
		texts[i], rest = bytes.Clone(rest[4:n]), rest[n:]
	}
	m.Self, m.About, m.Message = string(texts[0]), texts[1], bytes.Clone(rest)
	return m, nil
}

// alone refuses to be the only one where members live.
// Errors: ErrLocked; those of a read.
func (l *lease) alone(ctx context.Context, s *store, now uint64) error {
	list, err := s.members(ctx, now)
	for _, one := range list {
		if !one.over(now) {
			return fmt.Errorf("%w: the keyspace %s is shared by several, such as %s", storage.ErrLocked, s.o.Keyspace, one.Self)
		}
	}
	return err
}

// join writes the first row of a member, and removes those of members whose lease is over.
// Errors: as write.
func (l *lease) join(ctx context.Context, s *store, now uint64) error {
	list, err := s.members(ctx, now)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.put(ctx, s, now, func(e context.Context, c *transaction.KVTxn) error {
		for _, one := range list {
			if one.over(now) {
				if err := c.Delete(s.memberKey(one.ID)); err != nil {
					return err
				}
			}
		}
		switch owned, err := s.owned(e, c); {
		case err != nil:
			return err
		case owned: // by somebody whose lease is over
			return c.Delete(s.keys.in(spaceOwner, nil))
		}
		return c.LockKeysWithWaitTime(e, clientkv.LockNoWait, s.keys.in(spaceOwner, nil))
	})
	if err != nil {
		return err
	}
	return s.heed(ctx)
}

// owned reports that there is a row of one owner in the state that a transaction reads.
func (s *store) owned(ctx context.Context, c *transaction.KVTxn) (bool, error) {
	if _, err := c.Get(ctx, s.keys.in(spaceOwner, nil)); isAbsent(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// back is a member's return after its lease was over: nobody may have taken the store for himself
// meanwhile. mu is held. Errors: ErrLocked, and then the store is lost; as write.
func (l *lease) back(ctx context.Context, s *store) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	_, err = l.put(ctx, s, now, func(e context.Context, c *transaction.KVTxn) error {
		owned, err := s.owned(e, c)
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
	return s.heed(ctx)
}

// remain renews the lease of a member. If it was over before, others may have gone on without
// this process: it reads what they have done before it does anything else.
// Errors: as write; those of rejoin.
func (l *lease) remain(ctx context.Context, s *store, now uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.Load() {
		return storage.ErrLocked
	}
	before := l.tenure.Load()
	again, err := l.put(ctx, s, now, nil)
	if err != nil || !again {
		return err
	}
	if err := l.back(ctx, s); err != nil {
		return err
	}
	if l.rejoin != nil {
		ts, err := s.ask(ctx)
		if err != nil {
			return err
		}
		r := &reader{view: view{s: s, ts: ts, tenure: before}}
		r.Below = &r.view
		s.hold(ts)
		defer r.Close()
		if err := l.rejoin(ctx, r); err != nil {
			return err
		}
	}
	next := &tenure{}
	next.end.Store(l.row)
	l.tenure.Store(next)
	return nil
}

// hold notes a reader at a time; release ends it.
func (s *store) hold(ts uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[ts]++
	s.open++
}

// put writes the row of a member in a transaction that began at a time, with more. The lease
// lasts longer then, unless it was over when the row was committed: again says so. mu is held.
// Errors: as write.
func (l *lease) put(ctx context.Context, s *store, now uint64, more func(context.Context, *transaction.KVTxn) error) (again bool, err error) {
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
	e := s.errand(ctx, s.o.Lease)
	defer e.end()
	point, err := s.wanted(e, c)
	if err != nil {
		return false, e.fail(err)
	}
	s.advance(point) // unless somebody reads before it
	if err := s.comply(e, c); err != nil {
		return false, e.fail(err)
	}
	row := memberRow{Member: storage.Member{Self: s.o.Self, Message: l.message}, end: end, safe: s.safePoint.Load(), oldest: s.oldestReader(now), level: s.o.Level}
	if l.about != nil {
		row.About = l.about()
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
	s.meet(at)
	s.hears()
	first := l.row == 0
	l.row = end
	if was := l.tenure.Load(); first || at <= was.end.Load() {
		was.end.Store(end)
		return false, nil
	}
	return true, nil
}

// renewal is one renewal by the clock, tried again while a reader is in its way.
func (l *lease) renewal(ctx context.Context, s *store) error {
	for {
		begun := s.o.Clock()
		now, err := s.ask(ctx)
		if err != nil {
			return err
		}
		if err = l.remain(ctx, s, now); !errors.Is(err, storage.ErrConflict) {
			if err == nil {
				l.renewed.at(begun)
			}
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
