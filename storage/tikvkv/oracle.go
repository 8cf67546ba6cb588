package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	pdoracle "github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// oracle fetches timestamps from PD's timestamp oracle (TSO), and holds the newest one seen.
type oracle struct {
	life      *lifecycle
	cluster   *cluster
	maxSeenTS atomic.Uint64 // the newest PD timestamp seen by this process
	fetches   atomic.Int64  // timestamps fetched
	fetchTime atomic.Int64  // total time of these requests, in nanoseconds
}

// newOracle returns the oracle of a cluster; it has seen no timestamp yet.
func newOracle(life *lifecycle, c *cluster) *oracle { return &oracle{life: life, cluster: c} }

// fetchTS fetches a new timestamp from the oracle. Errors: ErrClosed, ErrUnavailable,
// ctx.Err().
func (o *oracle) fetchTS(ctx context.Context) (uint64, error) {
	if err := o.life.check(ctx); err != nil {
		return 0, err
	}
	c := o.cluster
	e := c.beginRequest(ctx, c.limits.read)
	defer e.end()
	begun := c.o.Clock()
	ts, err := c.kv.GetTimestampWithRetry(tikv.NewBackofferWithVars(e, oracleBackoff, nil), pdoracle.GlobalTxnScope)
	if err != nil {
		if err = e.fail(err); ctx.Err() == nil && !errors.Is(err, storage.ErrUnavailable) {
			err = fmt.Errorf("%w: the oracle: %w", storage.ErrUnavailable, err)
		}
		return 0, err
	}
	o.fetches.Add(1)
	o.fetchTime.Add(int64(c.o.Clock().Sub(begun)))
	o.observeTS(ts)
	return ts, nil
}

// oracleBackoff is the time for which the client itself retries to get a timestamp, in
// milliseconds.
const oracleBackoff = 15000

// observeTS records a PD timestamp, if it is the newest one seen.
func (o *oracle) observeTS(ts uint64) {
	for old := o.maxSeenTS.Load(); ts > old && !o.maxSeenTS.CompareAndSwap(old, ts); old = o.maxSeenTS.Load() {
	}
}
