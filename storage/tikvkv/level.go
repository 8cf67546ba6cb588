package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// FormatVersion is the format version of what lies in a keyspace: records, the catalog, the change log, rows of
// sessions, messages of members. A program reads what was written at its own level and at earlier ones. The
// level increases by one with each change that earlier programs would misread.
//
// Servers of two releases run side by side during a rolling upgrade. A row of the keyspace stores the level
// at which all members write, and a newer program writes at that level. Once all members can read the next
// level, the row is raised; from then on programs that cannot read that level are refused. A member that
// joins, or rejoins after its lease has expired, conflicts with the member that raises the level, so one of
// the two sees the other.
const FormatVersion = 1

// formatVersionKey returns the key of the row with the level at which all members write.
func (s *store) formatVersionKey() []byte { return s.keys.in(spaceOwner, []byte{ownerFormatVersion}) }

// decodeFormatVersion decodes the row; the row is missing until the level is raised for the first time.
func decodeFormatVersion(stored []byte) uint32 {
	if len(stored) != 4 {
		return 1
	}
	return binary.BigEndian.Uint32(stored)
}

// adoptVersion adopts the level stored in the snapshot of a transaction. Errors: ErrFormat if this program cannot
// read that level; those of a read.
func (s *store) adoptVersion(ctx context.Context, c *transaction.KVTxn) error {
	stored, err := c.Get(ctx, s.formatVersionKey())
	if err != nil && !isAbsent(err) {
		return err
	}
	level := decodeFormatVersion(stored.Value)
	if level > s.o.FormatVersion {
		return fmt.Errorf("%w: the keyspace %s is written at level %d since all servers were of a newer version, and this program knows level %d: start the newer one", storage.ErrFormat, s.o.Keyspace, level, s.o.FormatVersion)
	}
	s.formatVersion.Store(level)
	return nil
}

// raiseVersionExclusive raises the level to the newest that this program can write. It is called by an exclusive server.
// Errors: as adoptVersion.
func (s *store) raiseVersionExclusive(ctx context.Context, c *transaction.KVTxn) error {
	if err := s.adoptVersion(ctx, c); err != nil || s.formatVersion.Load() == s.o.FormatVersion {
		return err
	}
	s.formatVersion.Store(s.o.FormatVersion)
	return c.Set(s.formatVersionKey(), binary.BigEndian.AppendUint32(nil, s.o.FormatVersion))
}

// raiseVersion raises the level if all members can read a newer one. Errors: ErrConflict if a member has joined
// meanwhile; as commitUnderLease.
func (s *store) raiseVersion(ctx context.Context) error {
	if s.formatVersion.Load() >= s.o.FormatVersion {
		return nil
	}
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	list, err := s.members(ctx, now)
	if err != nil {
		return err
	}
	next := s.o.FormatVersion
	for _, m := range list {
		if !m.expired(now) {
			next = min(next, m.formatVersion)
		}
	}
	if next <= s.formatVersion.Load() {
		return nil
	}
	risen := false
	err = s.commitUnderLease(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		if err := s.adoptVersion(e, c); err != nil || s.formatVersion.Load() >= next {
			return false, err
		}
		if err := c.LockKeysWithWaitTime(e, clientkv.LockNoWait, s.keys.in(spaceOwner, nil)); err != nil {
			return false, err
		}
		risen = true
		return true, c.Set(s.formatVersionKey(), binary.BigEndian.AppendUint32(nil, next))
	})
	if err != nil || !risen {
		return err
	}
	s.formatVersion.Store(next)
	s.o.Log(false, fmt.Sprintf("all servers over the keyspace %s are of this version or newer: it is written at level %d, which older ones do not read", s.o.Keyspace, next))
	return nil
}
