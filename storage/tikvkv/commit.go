package tikvkv

import (
	"context"
	"errors"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// Apply implements writebuf.Engine.
func (t *txn) Apply(ctx context.Context, _ storage.Durability) (storage.Timestamp, error) {
	if err := t.committer.life.check(ctx); err != nil {
		return 0, err
	}
	if t.Empty() {
		return t.ReadTimestamp(), nil
	}
	l := latchHold{held: t.TakeLatches(), most: t.committer.limits.latch}
	l.begin()
	defer l.returned()
	return t.committer.commit(ctx, t, &l)
}

// commit commits the buffered writes of t through client-go, which does so in two phases (two-phase commit of
// Percolator): prewrites of all keys, then the commit of the primary key, which decides. It returns the timestamp of
// the commit. l holds the latches, for at most l.most longer, until the client's background work has ended too.
func (m *committer) commit(ctx context.Context, t *txn, l *latchHold) (storage.Timestamp, error) {
	if err := m.checkUnchanged(ctx, t); err != nil {
		return 0, err
	}
	c, err := m.cluster.kv.Begin(tikv.WithStartTS(t.start))
	if err != nil {
		return 0, translate(err)
	}
	place, class := m.oracle.maxSeenTS.Load(), m.classOf(&t.buf)
	logged, err := m.bufferWrites(ctx, t, c, place, class)
	if err != nil {
		_ = c.Rollback() // no request was sent
		return 0, translate(err)
	}
	window := m.limits.windows[class]
	f := &fence{bound: func() uint64 {
		if t.ts < m.snapshots.safePoint.Load() {
			return 1 // values that this transaction read or overwrites may be garbage-collected
		}
		return min(later(place, window), t.term.end.Load())
	}}
	c.SetRPCInterceptor(f.wrap())
	c.SetEnableAsyncCommit(m.o.AsyncCommit)
	c.SetEnable1PC(m.o.OnePhase)
	c.SetBackgroundGoroutineLifecycleHooks(transaction.LifecycleHooks{Pre: l.begin, Post: l.end})
	if t.Essential {
		c.SetDiskFullOpt(kvrpcpb.DiskFullOpt_AllowedOnAlmostFull)
	}
	inflight := m.log.beginInflight(logged)
	f.inflight = inflight
	e := m.cluster.beginRequest(ctx, m.limits.commit)
	f.sent = func() { e.resolvable.Store(true) } // settle can look the outcome up, so the timeout is not extended
	err = c.Commit(e)
	e.end()
	ts := transaction.TxnProbe{KVTxn: c}.GetCommitTS()
	if err != nil {
		if ts, err = m.failed(e, f, t.start, err); err != nil {
			if !errors.Is(err, storage.ErrUndetermined) {
				m.finish(inflight, 0)
			}
			return 0, err
		}
	}
	m.finish(inflight, ts)
	return timestampOf(ts), nil
}

// bufferWrites adds the writes, locks and log records of t to the client's transaction c; no request is sent yet. It
// returns the log records with the keys under which they are stored.
func (m *committer) bufferWrites(ctx context.Context, t *txn, c *transaction.KVTxn, place uint64, class byte) (logged []keyValue, err error) {
	if locks := t.buf.Locks(); len(locks) > 0 {
		keys := make([][]byte, len(locks))
		for i, key := range locks {
			keys[i] = m.keys.user(key)
		}
		if err := c.LockKeysWithWaitTime(context.WithoutCancel(ctx), clientkv.LockNoWait, keys...); err != nil {
			return nil, err
		}
	}
	for key, value := range t.buf.All() {
		if err := m.bufferWrite(c, key, value, t.chunkCounts[string(key)]); err != nil {
			return nil, err
		}
	}
	if len(t.buf.Logs()) > 0 {
		logged = m.log.values(t.buf.Logs(), place, class)
		for _, p := range logged {
			if err := c.Set(p.key, p.body); err != nil {
				return nil, err
			}
		}
	}
	return logged, nil
}

// bufferWrite sets one key in the client's transaction c to its value, whole or in chunks; if value is nil, it
// deletes the key. It also deletes the chunks of the older value that are no longer used; that value has chunksBefore
// chunks.
func (m *committer) bufferWrite(c *transaction.KVTxn, key, value []byte, chunksBefore uint32) error {
	chunks := uint32(0)
	var err error
	switch {
	case value == nil:
		err = c.Delete(m.keys.user(key))
	case len(value) <= chunkBytes:
		err = c.Set(m.keys.user(key), append(append(make([]byte, 0, len(value)+1), valuePlain), value...))
	default:
		for rest := value; len(rest) > 0 && err == nil; chunks++ {
			n := min(chunkBytes, len(rest))
			err = c.Set(m.keys.chunk(key, chunks), rest[:n])
			rest = rest[n:]
		}
		if err == nil {
			err = c.Set(m.keys.user(key), chunkedHead(chunks, len(value)))
		}
	}
	for n := chunks; n < chunksBefore && err == nil; n++ {
		err = c.Delete(m.keys.chunk(key, n))
	}
	return err
}
