package tikvkv

import (
	"context"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// store implements storage.Store by objects that have one responsibility each. Each depends only on those above it in
// the list of fields.
type store struct {
	*settings
	life       *lifecycle
	cluster    *cluster         // requests through the client
	oracle     *oracle          // PD timestamps
	lease      *lease           // whether this process may read and write
	cached     *cachedTS        // read timestamps without a request
	snapshots  *snapshots       // open readers, and the safe point
	rows       *rows            // reads
	internal   *internalCommits // writes of the engine itself
	membership *membership      // acquires and renews the lease
	regions    *regions         // splits regions
	log        *changeLog       // the change log
	committer  *committer       // transactions
	dropped    *droppedRanges   // deletes of ranges
	safePoints *safePoints      // garbage collection
}

// newStore returns a store that has no lease yet.
func newStore(set *settings, c *cluster) *store {
	s := &store{settings: set, life: newLifecycle(), cluster: c}
	s.oracle = newOracle(s.life, c)
	s.lease = newLease(set, s.life)
	s.cached = newCachedTS(s.oracle, s.lease)
	s.snapshots = newSnapshots(set, s.oracle, s.lease, s.cached)
	s.rows = newRows(set, c, s.oracle, s.lease, s.snapshots)
	s.internal = newInternalCommits(c, s.oracle, s.lease)
	s.membership = newMembership(s.rows, s.life, newFormatVersion(s.rows, s.internal))
	s.regions = newRegions(c, s.life)
	s.log = newChangeLog(s.rows, s.life, s.cached, s.internal)
	s.committer = newCommitter(s.rows, s.life, s.cached, s.log)
	s.dropped = newDroppedRanges(s.rows, s.life, s.internal)
	s.safePoints = newSafePoints(s.rows, s.life, s.internal, s.dropped)
	return s
}

// Begin implements storage.Store.
func (s *store) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := s.committer.begin(ctx, &o)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Snapshot implements storage.Store.
func (s *store) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	r := &reader{view: view{rows: s.rows, readOnly: true}}
	r.Below = &r.view
	if err := s.snapshots.acquire(ctx, &r.view, at); err != nil {
		return nil, err
	}
	return r, nil
}

// Now implements storage.Store.
func (s *store) Now(ctx context.Context) (storage.Timestamp, error) {
	ts, err := s.oracle.fetchTS(ctx)
	return timestampOf(ts), err
}

// Latest implements storage.Store.
func (s *store) Latest() storage.Timestamp { return timestampOf(s.oracle.maxSeenTS.Load()) }

// Durable implements storage.Store: a commit is stored on a majority of replicas when it
// ends.
func (s *store) Durable() storage.Timestamp { return s.Latest() }

// Sync implements storage.Store.
func (s *store) Sync(ctx context.Context) error { return s.life.check(ctx) }

// ReadLog implements storage.Store.
func (s *store) ReadLog(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (storage.Timestamp, error) {
	return s.log.read(ctx, stream, after, yield)
}

// ReadLogBack implements storage.Store.
func (s *store) ReadLogBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) error {
	return s.log.readBack(ctx, stream, upTo, after, yield)
}

// WaitLog implements storage.Store.
func (s *store) WaitLog(ctx context.Context, after storage.Timestamp) error {
	return s.log.wait(ctx, after)
}

// TruncateLog implements storage.Store.
func (s *store) TruncateLog(ctx context.Context, stream []byte, ts storage.Timestamp) error {
	return s.log.truncate(ctx, stream, ts)
}

// DeleteRange implements storage.Store.
func (s *store) DeleteRange(ctx context.Context, r storage.Range) error { return s.dropped.add(ctx, r) }

// Separate implements storage.Separator.
func (s *store) Separate(keys [][]byte) { s.regions.separate(keys) }

// Collect calls collectExclusive.
func (s *store) Collect(ctx context.Context) error { return s.safePoints.collectExclusive(ctx) }

// CheckReachable implements storage.Remote.
func (s *store) CheckReachable() error { return s.cluster.checkReachable() }

// Checkpoint implements storage.Store.
func (s *store) Checkpoint(context.Context, string) error {
	return errors.New("tikvkv: the data are not in files of this server: back up the cluster with TiKV's BR, or one database with cantle dump")
}

// DiskFull implements storage.Store. It is always false: TiKV itself refuses writes when
// its disks are full.
func (s *store) DiskFull() bool { return false }

// Metrics implements storage.Store.
func (s *store) Metrics() storage.Metrics {
	open, iterators := s.snapshots.counts()
	return storage.Metrics{
		Commits: s.committer.commits.Load(), Conflicts: s.committer.refused.Load(), OpenSnapshots: int64(open), OpenIterators: int64(iterators),
		CacheBytes: s.log.cache.bytes(), CacheMax: logCacheBytesMax,
	}
}

// Close implements storage.Store.
func (s *store) Close() error {
	if !s.life.close() {
		return storage.ErrClosed
	}
	s.log.close()
	open, iterators := s.snapshots.close()
	s.life.wait()
	err := s.membership.release()
	err = errors.Join(err, s.cluster.kv.Close())
	if open > 0 || iterators > 0 {
		err = errors.Join(err, fmt.Errorf("tikvkv: closed with %d readers and %d iterators open", open, iterators))
	}
	return err
}
