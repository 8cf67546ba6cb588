package tikvkv

import (
	"context"

	clientkv "github.com/tikv/client-go/v2/kv"

	"github.com/cantledb/cantle/storage"
)

// rows reads rows of the keyspace at PD timestamps: single ones, batches, and pages of ranges.
type rows struct {
	*settings
	cluster   *cluster
	oracle    *oracle
	lease     *lease
	snapshots *snapshots
}

// newRows returns the rows of a keyspace.
func newRows(set *settings, c *cluster, o *oracle, l *lease, s *snapshots) *rows {
	return &rows{settings: set, cluster: c, oracle: o, lease: l, snapshots: s}
}

// get returns the stored value of a key of the cluster at a PD timestamp, nil if it is
// absent.
func (r *rows) get(ctx context.Context, ts uint64, key []byte) ([]byte, error) {
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	entry, err := r.cluster.kv.GetSnapshot(ts).Get(e, key)
	if isAbsent(err) {
		return nil, r.checkRetained(ctx, ts)
	}
	if err != nil {
		return nil, e.fail(err)
	}
	return entry.Value, r.checkRetained(ctx, ts)
}

// batch returns the stored values of several keys of the cluster at a PD timestamp, by key, without the keys that are
// absent.
func (r *rows) batch(ctx context.Context, ts uint64, keys [][]byte, o ...clientkv.BatchGetOption) (map[string]clientkv.ValueEntry, error) {
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	got, err := r.cluster.kv.GetSnapshot(ts).BatchGet(e, keys, o...)
	if err != nil {
		return nil, e.fail(err)
	}
	return got, r.checkRetained(ctx, ts)
}

// checkRetained returns ErrSnapshotTooOld for a read before the safe point, because some versions may have been
// removed. It is called after each read, during which the safe point may have moved. A member whose lease is not
// fresh first waits for a renewal, which adopts a newer safe point, if ts is older than the retention. A member that
// joins has no renewals: if a row has changed since it was read, the transaction that joins conflicts.
func (r *rows) checkRetained(ctx context.Context, ts uint64) error {
	if ts < r.snapshots.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	if !r.o.Several || r.lease.fresh() || !r.lease.acquired() {
		return nil
	}
	now, err := r.oracle.fetchTS(ctx) // the safe point may have moved while this process was paused
	if err != nil || ts >= subMillis(now, r.o.Retention.Milliseconds()) {
		return err
	}
	if err := r.lease.waitUntilCovers(ctx, now); err != nil {
		return err
	}
	if ts < r.snapshots.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	return nil
}
