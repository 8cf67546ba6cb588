package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// Level counts how what lies in a keyspace is written: records, the catalog, the change log, rows of sessions,
// what members tell. A program reads what was written at its level and at those before. It rises by one
// with a change that programs before it would not read as it is meant.
//
// Servers of two releases work side by side while one after another is replaced: a row of the
// keyspace says at which level all write, and a newer program writes at that one. The row rises once all
// members can read the next level, and from then on keeps programs out that cannot. Whoever
// joins, or comes back after its lease was over, and whoever lets the row rise conflict: one of the two
// sees the other.
const Level = 1

// levelKey is the key of the row that says at which level all write.
func (s *store) levelKey() []byte { return s.keys.in(spaceOwner, []byte{ownerLevel}) }

// levelOf reads the row; there is none before the level has risen for the first time.
func levelOf(stored []byte) uint32 {
	if len(stored) != 4 {
		return 1
	}
	return binary.BigEndian.Uint32(stored)
}

// comply goes by the level in the state that a transaction reads.
// Errors: ErrFormat if this program cannot read what others write; those of a read.
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

// impose lets the level rise to what this program knows, which has the store alone.
// Errors: as comply.
func (s *store) impose(ctx context.Context, c *transaction.KVTxn) error {
	if err := s.comply(ctx, c); err != nil || s.level.Load() == s.o.Level {
		return err
	}
	s.level.Store(s.o.Level)
	return c.Set(s.levelKey(), binary.BigEndian.AppendUint32(nil, s.o.Level))
}

// rise lets the level rise if all members can read a newer one than is written.
// Errors: ErrConflict if somebody joined meanwhile; as want.
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
