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

// OpenOn opens a store over a client of a cluster, which the store closes with itself.
// Errors: ErrLocked if another process has the keyspace, ErrUnavailable, ctx.Err(), what is
// wrong with the options.
func OpenOn(ctx context.Context, kv *tikv.KVStore, o Options) (storage.Store, error) {
	clocked := o.Clock != nil
	o = o.defaults()
	keys, err := newLayout(o.Keyspace)
	if err != nil {
		return nil, fmt.Errorf("tikvkv: %w", err)
	}
	s := &store{
		o: o, clocked: clocked, kv: kv, keys: keys, latches: writebuf.NewLatches(), limits: usualLimits,
		readers: map[uint64]int{}, wake: make(chan struct{}), stop: make(chan struct{}),
	}
	s.bounds = writebuf.Bounds{Key: keyBytesMax, Value: o.ValueBytesMax, Txn: o.TxnBytesMax, Copies: 2} // the client has its own
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	s.writer = binary.BigEndian.Uint32(id[:])
	if err := s.lease.take(ctx, s); err != nil {
		return nil, err
	}
	if err := s.persist(ctx, "a row as it was committed", func() error { return s.probe(ctx) }); err != nil {
		_ = s.lease.give(s) // the next one need not wait for its end
		return nil, err
	}
	s.newest = s.Latest() // what others committed before
	s.tail.floor = s.met.Load()
	if err := s.persist(ctx, "the safe point", func() error { return s.followPoint(ctx) }); err != nil {
		_ = s.lease.give(s)
		return nil, err
	}
	life := context.WithoutCancel(ctx)
	s.stopped.Go(func() { s.lease.renew(life, s) })
	if !o.Several {
		s.stopped.Go(func() { s.collector() })
	}
	if o.Several {
		return &member{s}, nil
	}
	return s, nil
}

// probe makes sure that the cluster tells commit times with what is read, on which the order of
// the change log rests. TiKV does since 8.5.6. Errors: ErrFormat, those of a read.
func (s *store) probe(ctx context.Context) error {
	row := s.leaseKey()
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	entry, err := s.kv.GetSnapshot(now).Get(e, row, clientkv.WithReturnCommitTS())
	if err = e.fail(err); storage.Passes(err) || ctx.Err() != nil {
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

// persist tries a step on the way to an open store until it succeeds, as long as it fails for
// what passes: a cluster that is slow, or busy with another leader, is not a reason to end, nor is one
// lost answer. The log says what is waited for.
func (s *store) persist(ctx context.Context, what string, do func() error) error {
	return storage.Persist(ctx, s.limits.open, do, func(err error) {
		s.o.Log(true, fmt.Sprintf("the keyspace %s is not open yet, and it is tried again: %s: %v", s.o.Keyspace, what, err))
	})
}
