package memkv

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// txn implements storage.Txn.
type txn struct {
	*reader
	buf      writebuf.Buffer
	readOnly bool
	held     writebuf.Held
}

// lookup returns the value the transaction sees, nil if absent.
func (t *txn) lookup(ctx context.Context, key []byte) ([]byte, error) {
	v, err := t.reader.lookup(ctx, key)
	if err == nil {
		if own, state := t.buf.Get(key); state != writebuf.Untouched {
			v = own
		}
	}
	return v, err
}

func (t *txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	v, err := t.lookup(ctx, key)
	if err == nil && v == nil {
		err = storage.ErrNotFound
	}
	return append(dst, v...), err
}

func (t *txn) Has(ctx context.Context, key []byte) (bool, error) {
	v, err := t.lookup(ctx, key)
	return v != nil, err
}

func (t *txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	for i, k := range keys {
		v, err := t.lookup(ctx, k)
		if err == nil {
			err = emit(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := t.iter(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return writebuf.Guard(writebuf.Merge(it, &t.buf, r, o.Reverse)), nil
}

// checkWrite is called by every write with the bytes it adds.
func (t *txn) checkWrite(key []byte, n int) error {
	switch {
	case t.closed.Load():
		return storage.ErrClosed
	case t.readOnly:
		return storage.ErrReadOnly
	case n > valueBytesMax:
		return storage.ErrValueTooLarge
	case t.buf.Bytes()+n > txnBytesMax:
		return storage.ErrTxnTooLarge
	}
	return writebuf.CheckKey(key)
}

func (t *txn) Set(key, value []byte) error {
	if err := t.checkWrite(key, len(key)+len(value)); err != nil {
		return err
	}
	if len(value) == 0 {
		return storage.ErrInvalidKey
	}
	t.buf.Set(key, value)
	return nil
}

func (t *txn) Delete(key []byte) error {
	if err := t.checkWrite(key, len(key)); err != nil {
		return err
	}
	t.buf.Delete(key)
	return nil
}

func (t *txn) Lock(_ context.Context, keys ...[]byte) error {
	for _, k := range keys {
		if err := t.checkWrite(k, len(k)); err != nil {
			return err
		}
		t.buf.Lock(k)
	}
	return nil
}

func (t *txn) AppendLog(stream, rec []byte) error {
	if err := t.checkWrite([]byte{1}, len(stream)+len(rec)); err != nil {
		return err
	}
	t.buf.AppendLog(stream, rec)
	return nil
}

func (t *txn) Claim(ctx context.Context, keys ...[]byte) error {
	if err := t.s.lock(ctx); err != nil {
		return err
	}
	defer t.s.mu.Unlock()
	for _, key := range keys {
		if t.s.touched[string(key)] > t.ts {
			return storage.ErrConflict
		}
	}
	return nil
}

func (t *txn) Savepoint() storage.Savepoint    { return t.buf.Savepoint() }
func (t *txn) RollbackTo(sp storage.Savepoint) { t.buf.RollbackTo(sp) }
func (t *txn) BufferedBytes() int              { return t.buf.Bytes() }

func (t *txn) Close() {
	t.reader.Close()
	t.held.Release()
}

func (t *txn) Commit(ctx context.Context, _ storage.Durability) (storage.Timestamp, error) {
	if t.closed.Load() {
		return 0, storage.ErrClosed
	}
	defer t.Close()
	if t.buf.Empty() {
		return t.ts, nil
	}
	s := t.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	defer t.leave()
	touch := t.buf.Locks()
	for k := range t.buf.All() {
		touch = append(touch, k)
	}
	for _, k := range touch {
		if s.touched[string(k)] > t.ts {
			s.conflicts++
			return 0, storage.ErrConflict
		}
	}
	ts := s.next(len(t.buf.Logs()))
	for _, k := range touch {
		s.touched[string(k)] = ts
	}
	for k, v := range t.buf.All() {
		s.put(string(k), ts, bytes.Clone(v))
	}
	for i, r := range t.buf.Logs() {
		name := string(r.Stream)
		own := ts - storage.Timestamp(len(t.buf.Logs())-1-i)
		s.logs[name] = append(s.logs[name], record{ts, own, bytes.Clone(r.Rec)})
	}
	return ts, nil
}

// leave ends the reader; mu is held.
func (t *txn) leave() {
	if !t.closed.Swap(true) {
		t.s.release(t.ts)
	}
}
