package tikvkv

import "context"

// separateKeys is the number of keys at which regions are split in one request.
const separateKeys = 64

// Separate implements storage.Separator: regions are split at the keys, and PD is requested to place
// them on different stores. TiKV also splits regions by size and load, but later. Empty regions that
// stay empty it merges again.
func (s *store) Separate(keys [][]byte) {
	stored := make([][]byte, len(keys))
	for i, key := range keys {
		stored[i] = s.keys.user(key)
	}
	s.background(func() {
		s.separateMu.Lock()
		defer s.separateMu.Unlock()
		ctx, end := s.untilClosed()
		defer end()
		for len(stored) > 0 {
			part := stored[:min(len(stored), separateKeys)]
			stored = stored[len(part):]
			err := s.splitRegions(ctx, part)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.o.Log(false, "regions are not split: "+err.Error())
				return
			}
		}
	})
}

// untilClosed returns a context that ends when the store is closed. The client retries for as long as that
// context lasts, for example while another server splits the same regions. The caller calls end when it
// needs the context no more.
func (s *store) untilClosed() (ctx context.Context, end func()) {
	ctx, end = context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.stop:
			end()
		case <-ctx.Done():
		}
	}()
	return ctx, end
}

// splitRegions splits regions at the given keys of the cluster; the client skips keys at which a region
// already begins.
func (s *store) splitRegions(ctx context.Context, keys [][]byte) error {
	e := s.beginRequest(ctx, s.limits.read)
	defer e.end()
	_, err := s.kv.SplitRegions(e, keys, true, nil)
	return e.fail(err)
}
