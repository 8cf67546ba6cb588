package tikvkv

import (
	"context"

	clientkv "github.com/tikv/client-go/v2/kv"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// txn implements storage.Txn.
type txn struct {
	view
	writebuf.Txn
	committer *committer
	start     uint64 // start timestamp, unique among transactions; see checkUnchanged
	buf       writebuf.Buffer

	claimed map[string]bool // keys that Prefetch has claimed and that were not passed to Claim yet
}

// begin implements storage.Store.Begin.
func (m *committer) begin(ctx context.Context, o *storage.TxnOptions) (*txn, error) {
	if err := m.life.check(ctx); err != nil {
		return nil, err
	}
	t := &txn{view: view{rows: m.rows, notes: !o.ReadOnly, readOnly: o.ReadOnly}, committer: m}
	t.Below, t.Closed = &t.view, &t.closed
	if err := t.Txn.Begin(ctx, t, &m.txnConfig, o); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		t.Write(&t.buf)
	}
	if err := m.snapshots.acquire(ctx, &t.view, o.At); err != nil {
		t.Abandon()
		return nil, err
	}
	if t.start = t.ts; o.At != 0 && !o.ReadOnly {
		var err error
		if t.start, err = m.oracle.fetchTS(ctx); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// Set implements storage.Txn. The keys of chunks are longer than the key of the value, so the key of a large value
// may be less long than other keys.
func (t *txn) Set(key, value []byte) error {
	if len(value) > chunkBytes && len(escape(key, true)) > keyBytesMax {
		return storage.ErrValueTooLarge
	}
	return t.Writer.Set(key, value)
}

// Prefetch implements storage.Fetcher.
func (t *txn) Prefetch(ctx context.Context, keys [][]byte, claim bool) error {
	if err := t.view.Prefetch(ctx, keys, claim); err != nil || !claim || len(keys) < 2 {
		return err
	}
	keys = keys[:min(len(keys), prefetchKeysMax)]
	stored := make([][]byte, len(keys))
	t.claimed = make(map[string]bool, len(keys))
	for i, key := range keys {
		stored[i] = t.rows.keys.user(key)
	}
	if err := t.compare(ctx, stored); err != nil {
		return err
	}
	for _, k := range stored {
		t.claimed[string(k)] = true
	}
	return nil
}

// Claim implements storage.Txn: it returns ErrConflict if one of the keys was written after the snapshot of the
// transaction. It does not detect a key that was created and deleted since the snapshot; the commit detects it.
func (t *txn) Claim(ctx context.Context, keys ...[]byte) error {
	if err := t.Check(ctx); err != nil {
		return err
	}
	stored := make([][]byte, 0, len(keys))
	for _, key := range keys {
		if k := t.rows.keys.user(key); !t.claimed[string(k)] {
			stored = append(stored, k)
		}
	}
	for _, key := range keys {
		delete(t.claimed, string(t.rows.keys.user(key)))
	}
	if len(stored) == 0 {
		return nil
	}
	return t.compare(ctx, stored)
}

// compare implements Claim for keys of the cluster: it compares their present versions with those of the snapshot.
func (t *txn) compare(ctx context.Context, stored [][]byte) error {
	now, err := t.rows.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	is, err := t.rows.batch(ctx, now, stored, clientkv.WithReturnCommitTS())
	if err != nil {
		return err
	}
	var absent [][]byte // absent now, and not known from fetched whether absent at the snapshot
	t.mu.Lock()
	fetched := t.fetched
	t.mu.Unlock()
	for _, key := range stored {
		was, known := fetched[string(key)]
		switch entry, ok := is[string(key)]; {
		case ok && entry.CommitTS > t.ts, !ok && was != nil:
			return storage.ErrConflict
		case !ok && !known:
			absent = append(absent, key)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	was, err := t.rows.batch(ctx, t.ts, absent)
	if err == nil && len(was) > 0 {
		err = storage.ErrConflict
	}
	return err
}

// Release implements writebuf.Engine.
func (t *txn) Release() {
	t.rows.snapshots.release(t.ts)
	t.buf = writebuf.Buffer{}
}
