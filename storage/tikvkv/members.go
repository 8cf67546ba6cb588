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
	list := all[:0]
	for _, one := range all {
		if one.Until >= timestampOf(now) {
			list = append(list, one)
		}
	}
	return timestampOf(now), list, err
}

// members lists the rows of members at a time, with those whose lease is over.
func (s *store) members(ctx context.Context, now uint64) (list []storage.Member, err error) {
	start, end := s.keys.in(spaceOwner, []byte{0}), s.keys.in(spaceOwner+1, nil)
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
	return s.keys.in(spaceOwner, append([]byte{0}, id[:]...))
}

// memberRow is the row of a member: the end of its lease, its name for people, its message.
func memberRow(end uint64, self string, message []byte) []byte {
	row := binary.BigEndian.AppendUint64(nil, end)
	row = binary.BigEndian.AppendUint16(row, uint16(len(self)))
	return append(append(row, self...), message...)
}

// memberOf reads a row. Errors: ErrFormat.
func memberOf(key, row []byte) (m storage.Member, err error) {
	n := 0
	if len(row) >= 10 {
		n = int(binary.BigEndian.Uint16(row[8:]))
	}
	if len(row) < 10+n || len(key) < len(m.ID) {
		return m, fmt.Errorf("%w: the row of a member has %d bytes", storage.ErrFormat, len(row))
	}
	copy(m.ID[:], key[len(key)-len(m.ID):])
	m.Until = timestampOf(binary.BigEndian.Uint64(row))
	m.Self, m.Message = string(row[10:10+n]), bytes.Clone(row[10+n:])
	return m, nil
}

// alone refuses to be the only one where members live.
// Errors: ErrLocked; those of a read.
func (l *lease) alone(ctx context.Context, s *store, now uint64) error {
	list, err := s.members(ctx, now)
	for _, one := range list {
		if one.Until >= timestampOf(now) {
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
			if one.Until < timestampOf(now) {
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
	return err
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
	return err
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
	if err == nil {
		err = c.Set(s.leaseKey(), memberRow(end, s.o.Self, l.message))
	}
	if err != nil {
		return false, translate(err)
	}
	f := &fence{bound: func() uint64 { return end }}
	c.SetRPCInterceptor(f.wrap())
	e := s.errand(ctx, s.o.Lease)
	defer e.end()
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
		now, err := s.ask(ctx)
		if err != nil {
			return err
		}
		if err = l.remain(ctx, s, now); !errors.Is(err, storage.ErrConflict) {
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
