package tikvkv

import (
	"context"

	"github.com/cantledb/cantle/storage"
)

// ApproximateBytes implements storage.Store. It adds up the sizes of the rows of a small range. In a larger range it
// stops after about countMax rows, and estimates the size from the regions of the rest, if several.
func (s *store) ApproximateBytes(ctx context.Context, r storage.Range) (uint64, error) {
	if err := s.life.check(ctx); err != nil || r.Empty() {
		return 0, err
	}
	v := view{rows: s.rows}
	if err := s.snapshots.acquire(ctx, &v, 0); err != nil {
		return 0, err
	}
	defer s.snapshots.release(v.ts)
	start, end := s.keys.users(r)
	n := uint64(0)
	for rows := 0; ; {
		p, err := s.rows.page(ctx, v.ts, pageRequest{start: start, end: end, rows: pageRowsMax})
		if err != nil {
			return 0, err
		}
		for i, key := range p.keys {
			n += uint64(len(key) - len(start) + len(r.Start))
			if len(p.values[i]) > 0 && p.values[i][0] == valueChunked && chunksOf(p.values[i]) > 0 {
				n += uint64(chunksOf(p.values[i])) * chunkBytes
			} else {
				n += uint64(len(p.values[i]))
			}
		}
		rows += len(p.keys)
		if p.next == nil {
			return n, nil
		}
		if rows >= countMax {
			regions, err := s.regions.count(ctx, p.next, end)
			if err != nil || regions <= 1 {
				return n, err
			}
			return max(n, uint64(regions-1)*regionBytes/2), nil
		}
		start = p.next
	}
}

// countMax is the number of rows after which ApproximateBytes estimates instead of counting; regionBytes is the size
// at which TiKV splits a region by default.
const (
	countMax    = 50_000
	regionBytes = 256 << 20
)
