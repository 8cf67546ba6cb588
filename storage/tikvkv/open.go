package tikvkv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// OpenOn opens a store over a client of a cluster; the store closes that client when it is closed.
// Errors: ErrLocked if another process has the keyspace, ErrUnavailable, ctx.Err(), invalid options.
func OpenOn(ctx context.Context, kv *tikv.KVStore, o Options) (storage.Store, error) {
	clocked := o.Clock != nil
	o = o.defaults()
	keys, err := newLayout(o.Keyspace)
	if err != nil {
		return nil, fmt.Errorf("tikvkv: %w", err)
	}
	s := &store{
		o: o, hasClock: clocked, kv: kv, keys: keys, latches: writebuf.NewLatches(), limits: defaultLimits,
		readers: map[uint64]int{}, wake: make(chan struct{}), stop: make(chan struct{}),
	}
	s.bounds = writebuf.Bounds{Key: keyBytesMax, Value: o.ValueBytesMax, Txn: o.TxnBytesMax, Copies: 2} // two copies of a write: the client buffers its own
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	s.writerID = binary.BigEndian.Uint32(id[:])
	if err := s.lease.acquire(ctx, s); err != nil {
		return nil, err
	}
	if err := s.retryOpen(ctx, "a row as it was committed", func() error { return s.probe(ctx) }); err != nil {
		_ = s.lease.release(s) // so that the next server need not wait until it expires
		return nil, err
	}
	s.newest = s.Latest() // commits that were made before the store was opened
	s.tail.floor = s.maxSeenTS.Load()
	if err := s.retryOpen(ctx, "the safe point", func() error { return s.followSafePoint(ctx) }); err != nil {
		_ = s.lease.release(s)
		return nil, err
	}
	life := context.WithoutCancel(ctx)
	s.stopped.Go(func() { s.lease.renewLoop(life, s) })
	if !o.Several {
		s.stopped.Go(func() { s.collector() })
	}
	if o.Several {
		return &member{s}, nil
	}
	return s, nil
}

// probe checks that the cluster returns commit times with values; the order of the change log depends
// on them. TiKV does so since 8.5.6. Errors: ErrFormat, those of a read.
func (s *store) probe(ctx context.Context) error {
	row := s.leaseKey()
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	e := s.beginRequest(ctx, s.limits.read)
	defer e.end()
	entry, err := s.kv.GetSnapshot(now).Get(e, row, clientkv.WithReturnCommitTS())
	if err = e.fail(err); storage.Temporary(err) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: the cluster does not tell when what it holds was committed: TiKV 8.5.6 or newer is needed (%w)", storage.ErrFormat, err)
	}
	if entry.CommitTS == 0 {
		return fmt.Errorf("%w: the cluster does not tell when what it holds was committed: TiKV 8.5.6 or newer is needed", storage.ErrFormat)
	}
	return nil
}

// retryOpen retries a step of opening the store while its error is temporary (storage.Temporary), for
// example because the cluster is slow, elects a leader, or an answer was lost. Each retry is logged.
func (s *store) retryOpen(ctx context.Context, what string, do func() error) error {
	return storage.RetryTemporary(ctx, s.limits.open, do, func(err error) {
		s.o.Log(true, fmt.Sprintf("the keyspace %s is not open yet, and it is tried again: %s: %v", s.o.Keyspace, what, err))
	})
}
