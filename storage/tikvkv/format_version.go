package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

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

// formatVersion holds the level (the format version) at which this process writes to the keyspace, and raises the
// level that the keyspace stores.
type formatVersion struct {
	*settings
	oracle   *oracle
	rows     *rows
	internal *internalCommits
	current  atomic.Uint32 // the level at which this process writes; 0 until it has been read
}

// newFormatVersion returns a level that has not been read yet.
func newFormatVersion(r *rows, i *internalCommits) *formatVersion {
	return &formatVersion{settings: r.settings, oracle: r.oracle, rows: r, internal: i}
}

// formatVersionKey returns the key of the row with the level at which all members write.
func (l layout) formatVersionKey() []byte { return l.in(spaceOwner, []byte{ownerFormatVersion}) }

// decodeFormatVersion returns the level in the row at which all members write. For a missing row, or one without 4
// bytes, it returns 1: the row is missing until the level is raised for the first time.
func decodeFormatVersion(stored []byte) uint32 {
	if len(stored) != 4 {
		return 1
	}
	return binary.BigEndian.Uint32(stored)
}

// adopt reads the level of the keyspace in the snapshot of the transaction c, and sets it as the level at which this
// process writes. Errors: ErrFormat if this program cannot read that level; errors of reads.
func (v *formatVersion) adopt(ctx context.Context, c *transaction.KVTxn) error {
	stored, err := c.Get(ctx, v.keys.formatVersionKey())
	if err != nil && !isAbsent(err) {
		return err
	}
	level := decodeFormatVersion(stored.Value)
	if level > v.o.FormatVersion {
		return fmt.Errorf("%w: the keyspace %s is written at level %d since all servers were of a newer version, and this program knows level %d: start the newer one", storage.ErrFormat, v.o.Keyspace, level, v.o.FormatVersion)
	}
	v.current.Store(level)
	return nil
}

// raiseExclusive raises the level of the keyspace, in the transaction c, to the newest that this program can write.
// Only an exclusive server calls it, because no other server then writes at an older level. Errors: errors of adopt.
func (v *formatVersion) raiseExclusive(ctx context.Context, c *transaction.KVTxn) error {
	if err := v.adopt(ctx, c); err != nil || v.current.Load() == v.o.FormatVersion {
		return err
	}
	v.current.Store(v.o.FormatVersion)
	return c.Set(v.keys.formatVersionKey(), binary.BigEndian.AppendUint32(nil, v.o.FormatVersion))
}

// raise raises the level of the keyspace to the newest that all members with a valid lease can read, if that is newer
// than the present one. Errors: ErrConflict if a member has joined or raised the level meanwhile; errors of reads and
// of internalCommits.run.
func (v *formatVersion) raise(ctx context.Context) error {
	if v.current.Load() >= v.o.FormatVersion {
		return nil
	}
	now, err := v.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	list, err := v.rows.members(ctx, now)
	if err != nil {
		return err
	}
	next := v.o.FormatVersion
	for _, m := range list {
		if !m.expired(now) {
			next = min(next, m.formatVersion)
		}
	}
	if next <= v.current.Load() {
		return nil
	}
	risen := false
	err = v.internal.run(ctx, now, func(e context.Context, c *transaction.KVTxn) (bool, error) {
		if err := v.adopt(e, c); err != nil || v.current.Load() >= next {
			return false, err
		}
		if err := c.LockKeysWithWaitTime(e, clientkv.LockNoWait, v.keys.ownerKey()); err != nil {
			return false, err
		}
		risen = true
		return true, c.Set(v.keys.formatVersionKey(), binary.BigEndian.AppendUint32(nil, next))
	})
	if err != nil || !risen {
		return err
	}
	v.current.Store(next)
	v.o.Log(false, fmt.Sprintf("all servers over the keyspace %s are of this version or newer: it is written at level %d, which older ones do not read", v.o.Keyspace, next))
	return nil
}
