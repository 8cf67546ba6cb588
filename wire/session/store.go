package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Store is a History that is kept in the store of the data: the retryable write records, which transactions were
// committed, and the heads of sessions (see headEntry).
//
//	meta 't' ‖ UUID(16) ‖ owner(32) ‖ 's' ‖ first(4) → txnNumber(8) ‖ seconds(4) ‖ last(4) ‖ result
//	meta 't' ‖ UUID(16) ‖ owner(32) ‖ 'c'           → txnNumber(8) ‖ seconds(4)
//
// Saving a result needs no read: the entries of a later retryable write overwrite those of the one before. Load
// ignores entries that remain from an earlier txnNumber; they are removed with the session.
type Store struct {
	store storage.Store
}

// NewStore returns the History of a store.
func NewStore(s storage.Store) *Store { return &Store{s} }

// Sizes in bytes of the parts of an entry's key and value in the store; upkeepBatch is the number of keys that one
// transaction of Forget or Sweep deletes.
const (
	nameBytes   = 16 + 32
	keyBytes    = 2 + nameBytes + 1 + 4
	headBytes   = 8 + 4
	upkeepBatch = 1000
)

// The kinds of entry.
const (
	statementEntry = 's'
	commitEntry    = 'c'
)

// appendName appends the part of an entry's key that identifies the session: UUID and owner.
func appendName(dst []byte, id ID) []byte {
	return append(append(dst, id.UUID[:]...), id.Owner[:]...)
}

// key returns the key of an entry.
func key(id ID, kind byte, stmt int32) []byte {
	return appendKey(make([]byte, 0, keyBytes), id, kind, stmt)
}

// appendKey appends the key of an entry, at most keyBytes.
func appendKey(dst []byte, id ID, kind byte, stmt int32) []byte {
	dst = append(appendName(keyspace.AppendMeta(dst, keyspace.MetaTransaction, nil), id), kind)
	if kind == statementEntry {
		dst = binary.BigEndian.AppendUint32(dst, uint32(stmt))
	}
	return dst
}

// value returns the beginning of an entry's value (txnNumber and time), with capacity for more bytes after it.
func value(txnNumber int64, more int) []byte {
	return appendHead(make([]byte, 0, headBytes+more), txnNumber)
}

// appendHead appends the head of an entry's value.
func appendHead(dst []byte, txnNumber int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(txnNumber))
	return binary.BigEndian.AppendUint32(dst, uint32(time.Now().Unix()))
}

// Save see History.
func (s *Store) Save(t storage.Txn, id ID, txnNumber int64, first, last int32, result bson.Raw) error {
	k := appendKey(make([]byte, 0, keyBytes+headBytes+4+len(result)), id, statementEntry, first) // and the value behind it
	v := append(binary.BigEndian.AppendUint32(appendHead(k[len(k):], txnNumber), uint32(last)), result...)
	return t.Set(k, v)
}

// SaveCommit see History.
func (s *Store) SaveCommit(t storage.Txn, id ID, txnNumber int64) error {
	return t.Set(key(id, commitEntry, 0), value(txnNumber, 0))
}

// Load see History.
func (s *Store) Load(ctx context.Context, id ID) (p StoredState, ok bool, err error) {
	r, err := s.store.Snapshot(ctx, 0)
	if err != nil {
		return StoredState{}, false, err
	}
	defer r.Close()
	it, err := r.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaTransaction, appendName(nil, id)), storage.IterOptions{})
	if err != nil {
		return StoredState{}, false, err
	}
	defer it.Close()
	p.TxnNumber = -1
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		v := it.Value()
		if len(name) <= nameBytes || len(v) < headBytes {
			return StoredState{}, false, fmt.Errorf("history entry %x: %w", it.Key(), storage.ErrCorruption)
		}
		n := int64(binary.BigEndian.Uint64(v))
		if name[nameBytes] == headEntry {
			if len(v) < headBytes+8 {
				return StoredState{}, false, fmt.Errorf("history entry %x: %w", it.Key(), storage.ErrCorruption)
			}
			p.Head = binary.BigEndian.Uint64(v[headBytes:])
			continue
		}
		if n < p.TxnNumber {
			continue
		}
		if n > p.TxnNumber {
			p = StoredState{TxnNumber: n, Head: p.Head}
		}
		if name[nameBytes] == commitEntry {
			p.Committed = true
			continue
		}
		if len(v) < headBytes+4 {
			return StoredState{}, false, fmt.Errorf("history entry %x: %w", it.Key(), storage.ErrCorruption)
		}
		p.Results = append(p.Results, StatementResult{First: int32(binary.BigEndian.Uint32(name[nameBytes+1:])),
			Last: int32(binary.BigEndian.Uint32(v[headBytes:])), Result: bson.Raw(v[headBytes+4:]).Clone()})
	}
	return p, p.TxnNumber >= 0, it.Err()
}

// MakeFinal implements History. It commits a transaction that locks the keys of the undetermined transaction. If
// that one is committed later, it has a write conflict and fails.
func (s *Store) MakeFinal(ctx context.Context, id ID, firsts []int32) error {
	keys := make([][]byte, len(firsts))
	for i, stmt := range firsts {
		keys[i] = key(id, statementEntry, stmt)
	}
	return storage.RetryConflicts(ctx, func() error {
		_, _, err := s.lock(ctx, keys)
		return err
	})
}

// MakeCommitFinal see History.
func (s *Store) MakeCommitFinal(ctx context.Context, id ID, txnNumber int64) (at storage.Timestamp, committed bool, err error) {
	err = storage.RetryConflicts(ctx, func() error {
		var stored []byte
		at, stored, err = s.lock(ctx, [][]byte{key(id, commitEntry, 0)})
		committed = len(stored) >= headBytes && int64(binary.BigEndian.Uint64(stored)) == txnNumber
		return err
	})
	return at, committed, err
}

// lock commits a transaction that locks the keys, so that earlier transactions that write them can no longer be
// committed. It returns the timestamp of its snapshot and the value of the first key.
func (s *Store) lock(ctx context.Context, keys [][]byte) (at storage.Timestamp, first []byte, err error) {
	t, err := s.store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return 0, nil, err
	}
	defer t.Close()
	if first, err = t.Get(ctx, keys[0], nil); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return 0, nil, err
	}
	if err := t.Lock(ctx, keys...); err != nil {
		return 0, nil, err
	}
	at = t.ReadTimestamp()
	_, err = t.Commit(ctx, storage.Synced)
	return at, first, err
}

// Forget see History.
func (s *Store) Forget(ctx context.Context, ids []ID) error {
	for _, id := range ids {
		r := keyspace.MetaPrefixRange(keyspace.MetaTransaction, appendName(nil, id))
		if _, err := s.remove(ctx, r, func([]byte) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the entries that were written before a time, most of them of sessions that clients abandoned, perhaps
// before a restart. It returns the number of removed entries.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	limit := before.Unix()
	return s.remove(ctx, keyspace.MetaRange(keyspace.MetaTransaction), func(v []byte) bool {
		return len(v) >= headBytes && int64(binary.BigEndian.Uint32(v[8:])) < limit
	})
}

// remove deletes the entries of a range for whose values which returns true, in transactions of at most upkeepBatch
// keys, and returns their number. If an entry is written meanwhile, the transaction has a write conflict: the
// session is in use, and the rest is left for a later run.
func (s *Store) remove(ctx context.Context, r storage.Range, which func(value []byte) bool) (n int, err error) {
	for {
		keys, next, err := s.collect(ctx, r, which)
		if err != nil || len(keys) == 0 {
			return n, err
		}
		t, err := s.store.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return n, err
		}
		for _, k := range keys {
			if err := t.Delete(k); err != nil {
				t.Close()
				return n, err
			}
		}
		if _, err := t.Commit(ctx, storage.Buffered); err != nil {
			return n, err
		}
		n += len(keys)
		if next == nil {
			return n, nil
		}
		r.Start = next
	}
}

// collect returns at most upkeepBatch keys of the range r for whose values which returns true. next is the key at
// which the caller continues, nil at the end of the range.
func (s *Store) collect(ctx context.Context, r storage.Range, which func(value []byte) bool) (keys [][]byte, next []byte, err error) {
	snap, err := s.store.Snapshot(ctx, 0)
	if err != nil {
		return nil, nil, err
	}
	defer snap.Close()
	it, err := snap.Iter(ctx, r, storage.IterOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for it.Next() {
		if len(keys) == upkeepBatch {
			return keys, append([]byte(nil), it.Key()...), nil
		}
		if which(it.Value()) {
			keys = append(keys, append([]byte(nil), it.Key()...))
		}
	}
	return keys, nil, it.Err()
}
