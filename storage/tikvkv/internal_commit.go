package tikvkv

import (
	"context"
	"errors"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// internalCommits commits transactions that the engine itself makes, on rows that no caller writes, such as those of
// the safe point and of dropped ranges. A fence refuses each commit that would come after the end of the lease.
type internalCommits struct {
	cluster *cluster
	oracle  *oracle
	lease   *lease
}

// newInternalCommits returns the internal commits of a keyspace.
func newInternalCommits(c *cluster, o *oracle, l *lease) *internalCommits {
	return &internalCommits{cluster: c, oracle: o, lease: l}
}

// run calls do in a transaction with the start timestamp now. If do returns true, run commits the transaction, unless
// the lease has ended. Errors: errors of do and of a commit.
func (i *internalCommits) run(ctx context.Context, now uint64, do func(ctx context.Context, c *transaction.KVTxn) (commit bool, err error)) error {
	c, err := i.cluster.kv.Begin(tikv.WithStartTS(now))
	if err != nil {
		return translate(err)
	}
	f := &fence{bound: i.lease.maxCommitTS}
	c.SetRPCInterceptor(f.wrap())
	e := i.cluster.beginRequest(ctx, i.cluster.limits.commit)
	defer e.end()
	if commit, err := do(e, c); err != nil || !commit {
		return e.fail(err)
	}
	if err := c.Commit(e); err != nil {
		return f.fail(e, err)
	}
	return nil
}

// write sets and deletes keys of the cluster in one transaction. Writing them twice is harmless, so conflicts and
// undetermined outcomes are retried, up to ten times.
func (i *internalCommits) write(ctx context.Context, set []keyValue, remove [][]byte) error {
	if len(set)+len(remove) == 0 {
		return nil
	}
	for try := 0; ; try++ {
		err := i.tryWrite(ctx, set, remove)
		if try < 10 && (errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrUndetermined)) {
			continue
		}
		return err
	}
}

// tryWrite is one attempt of write.
func (i *internalCommits) tryWrite(ctx context.Context, set []keyValue, remove [][]byte) error {
	start, err := i.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	c, err := i.cluster.kv.Begin(tikv.WithStartTS(start))
	if err != nil {
		return translate(err)
	}
	for _, p := range set {
		if err := c.Set(p.key, p.body); err != nil {
			return err
		}
	}
	for _, key := range remove {
		if err := c.Delete(key); err != nil {
			return err
		}
	}
	f := &fence{bound: i.lease.maxCommitTS}
	c.SetRPCInterceptor(f.wrap())
	c.SetDiskFullOpt(kvrpcpb.DiskFullOpt_AllowedOnAlmostFull) // deleting frees space in the end
	e := i.cluster.beginRequest(ctx, i.cluster.limits.commit)
	defer e.end()
	if err := c.Commit(e); err != nil {
		return f.fail(e, err)
	}
	i.oracle.observeTS(transaction.TxnProbe{KVTxn: c}.GetCommitTS())
	return nil
}
