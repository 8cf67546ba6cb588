package tikvkv

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// cluster holds the client of the TiKV cluster, and the time of the last renewal of the lease, by which
// checkReachable decides whether the cluster answers. beginRequest begins a request through the client.
type cluster struct {
	*settings
	kv         *tikv.KVStore
	lastAnswer atomic.Int64 // time of the last renewal of the lease, by o.Clock, in nanoseconds since 1970
}

// newCluster returns the cluster of a client.
func newCluster(set *settings, kv *tikv.KVStore) *cluster { return &cluster{settings: set, kv: kv} }

// checkReachable implements storage.Remote: it returns ErrUnavailable if the lease was last renewed longer ago than a
// lease lasts. A renewal includes a request to the oracle, a read and a commit, so it shows that the whole cluster
// answers.
func (c *cluster) checkReachable() error {
	since := c.o.Clock().Sub(time.Unix(0, c.lastAnswer.Load()))
	if since <= c.o.Lease {
		return nil
	}
	return fmt.Errorf("%w: the TiKV cluster has not answered for %v", storage.ErrUnavailable, since.Round(time.Second))
}

// noteAnswer stores the present time as that of the cluster's last answer.
func (c *cluster) noteAnswer() { c.lastAnswer.Store(c.o.Clock().UnixNano()) }

// retryOpen retries a step of opening the store, for at most c.limits.open, while its error is temporary
// (storage.Temporary): for example the cluster is slow, elects a leader, or an answer was lost. Each retry is logged.
func (c *cluster) retryOpen(ctx context.Context, what string, do func() error) error {
	return storage.RetryTemporary(ctx, c.limits.open, do, func(err error) {
		c.o.Log(true, fmt.Sprintf("the keyspace %s is not open yet, and it is tried again: %s: %v", c.o.Keyspace, what, err))
	})
}
