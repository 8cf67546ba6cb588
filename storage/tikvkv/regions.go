package tikvkv

import (
	"context"
	"sync"

	"github.com/tikv/client-go/v2/tikv"
)

// regions splits and counts the regions of a keyspace.
type regions struct {
	*settings
	life    *lifecycle
	cluster *cluster
	mu      sync.Mutex // one goroutine at a time splits regions
}

// newRegions returns the regions of a keyspace.
func newRegions(c *cluster, life *lifecycle) *regions {
	return &regions{settings: c.settings, life: life, cluster: c}
}

// separateKeys is the number of keys at which regions are split in one request.
const separateKeys = 64

// separate splits regions at keys, in the background, and requests PD to place them on different stores, so that
// several TiKV servers share the load at once. TiKV also splits regions by size and load, but later; it merges
// regions that stay empty.
func (r *regions) separate(keys [][]byte) {
	stored := make([][]byte, len(keys))
	for i, key := range keys {
		stored[i] = r.keys.user(key)
	}
	r.life.background(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		ctx, end := r.life.untilClosed()
		defer end()
		for len(stored) > 0 {
			part := stored[:min(len(stored), separateKeys)]
			stored = stored[len(part):]
			err := r.split(ctx, part)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				r.o.Log(false, "regions are not split: "+err.Error())
				return
			}
		}
	})
}

// split splits regions at the given keys of the cluster; the client skips keys at which a region
// already begins.
func (r *regions) split(ctx context.Context, keys [][]byte) error {
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	_, err := r.cluster.kv.SplitRegions(e, keys, true, nil)
	return e.fail(err)
}

// count returns the number of regions that a range of the cluster's keys touches.
func (r *regions) count(ctx context.Context, start, end []byte) (int, error) {
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	regions, err := r.cluster.kv.GetRegionCache().LoadRegionsInKeyRange(tikv.NewBackofferWithVars(e, pageBackoff, nil), start, end)
	return len(regions), e.fail(err)
}
