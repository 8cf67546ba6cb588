package tikvkv

import (
	"context"
	"fmt"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// OpenOn opens the store of the keyspace o.Keyspace over a client of a cluster; the store closes that client when it
// is closed. Errors: ErrLocked if an exclusive server has the keyspace, or members have it and o.Several is false,
// ErrFormat if TiKV is too old or the keyspace is of a newer program, ErrUnavailable, ctx.Err(), errors for invalid
// options.
func OpenOn(ctx context.Context, kv *tikv.KVStore, o Options) (storage.Store, error) {
	set := &settings{o: o.defaults(), limits: defaultLimits, hasClock: o.Clock != nil}
	var err error
	if set.keys, err = newLayout(set.o.Keyspace); err != nil {
		return nil, fmt.Errorf("tikvkv: %w", err)
	}
	s := newStore(set, newCluster(set, kv))
	if err := s.membership.acquire(ctx); err != nil {
		return nil, err
	}
	if err := s.cluster.retryOpen(ctx, "a row as it was committed", func() error { return s.probe(ctx) }); err != nil {
		_ = s.membership.release() // so that the next server need not wait until the lease expires
		return nil, err
	}
	s.log.begin()
	if err := s.cluster.retryOpen(ctx, "the safe point", func() error { return s.safePoints.followSafePoint(ctx) }); err != nil {
		_ = s.membership.release()
		return nil, err
	}
	life := context.WithoutCancel(ctx)
	s.life.stopped.Go(func() { s.membership.renewLoop(life) })
	if set.o.Several {
		return &sharedStore{s}, nil
	}
	s.life.stopped.Go(func() { s.safePoints.collectLoop() })
	return s, nil
}

// probe checks that the cluster returns commit times with values; the order of the change log depends on them. TiKV
// does so since 8.5.6. Errors: ErrFormat, errors of reads.
func (s *store) probe(ctx context.Context) error {
	row := s.membership.key()
	now, err := s.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	e := s.cluster.beginRequest(ctx, s.limits.read)
	defer e.end()
	entry, err := s.cluster.kv.GetSnapshot(now).Get(e, row, clientkv.WithReturnCommitTS())
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
