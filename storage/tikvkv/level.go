package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// Level is the format version of what lies in a keyspace: records, the catalog, the change log, rows of
// sessions, messages of members. A program reads what was written at its own level and at earlier ones. Level
// increases by one with each change that earlier programs would misread.
//
// Servers of two releases run side by side during a rolling upgrade. A row of the keyspace stores the level
// at which all members write, and a newer program writes at that level. Once all members can read the next
// level, the row is raised; from then on programs that cannot read that level are refused. A member that
// joins, or rejoins after its lease has expired, conflicts with the member that raises the level, so one of
// the two sees the other.
const Level = 1

// levelKey returns the key of the row with the level at which all members write.
func (s *store) levelKey() []byte { return s.keys.in(spaceOwner, []byte{ownerLevel}) }

// levelOf decodes the row; the row is missing until the level is raised for the first time.
func levelOf(stored []byte) uint32 {
	if len(stored) != 4 {
		return 1
	}
	return binary.BigEndian.Uint32(stored)
}

// comply adopts the level stored in the snapshot of a transaction. Errors: ErrFormat if this program cannot
// read that level; those of a read.
func (s *store) comply(ctx context.Context, c *transaction.KVTxn) error {
	stored, err := c.Get(ctx, s.levelKey())
	if err != nil && !isAbsent(err) {
		return err
	}
	level := levelOf(stored.Value)
	if level > s.o.Level {
		return fmt.Errorf("%w: the keyspace %s is written at level %d since all servers were of a newer version, and this program knows level %d: start the newer one", storage.ErrFormat, s.o.Keyspace, level, s.o.Level)
	}
	s.level.Store(level)
	return nil
}

// impose raises the level to the newest that this program can write. It is called by an exclusive server.
// Errors: as comply.
func (s *store) impose(ctx context.Context, c *transaction.KVTxn) error {
	if err := s.comply(ctx, c); err != nil || s.level.Load() == s.o.Level {
		return err
	}
	s.level.Store(s.o.Level)
	return c.Set(s.levelKey(), binary.BigEndian.AppendUint32(nil, s.o.Level))
}

// rise raises the level if all members can read a newer one. Errors: ErrConflict if a member has joined
// meanwhile; as underLease.
func (s *store) rise(ctx context.Context) error {
	if s.level.Load() >= s.o.Level {
		return nil
	}
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	list, err := s.members(ctx, now)
	if err != nil {
		return err
	}
	next := s.o.Level
	for _, m := range list {
		if !m.over(now) {
			next = min(next, m.level)
		}
	}
	if next <= s.level.Load() {
		return nil
	}
	risen := false
	err = s.underLease(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		if err := s.comply(e, c); err != nil || s.level.Load() >= next {
			return false, err
		}
		if err := c.LockKeysWithWaitTime(e, clientkv.LockNoWait, s.keys.in(spaceOwner, nil)); err != nil {
			return false, err
		}
		risen = true
		return true, c.Set(s.levelKey(), binary.BigEndian.AppendUint32(nil, next))
	})
	if err != nil || !risen {
		return err
	}
	s.level.Store(next)
	s.o.Log(false, fmt.Sprintf("all servers over the keyspace %s are of this version or newer: it is written at level %d, which older ones do not read", s.o.Keyspace, next))
	return nil
}
