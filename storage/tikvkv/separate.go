package tikvkv

import "context"

// separateKeys is at how many keys regions are split in one go.
const separateKeys = 64

// Separate implements storage.Separator: regions begin at the keys, and PD is asked to put
// them on different stores. TiKV splits regions by size and load too, but later, and
// empty ones that nobody fills it merges again.
func (s *store) Separate(keys [][]byte) {
	stored := make([][]byte, len(keys))
	for i, key := range keys {
		stored[i] = s.keys.user(key)
	}
	s.background(func() {
		s.separating.Lock()
		defer s.separating.Unlock()
		ctx, end := s.whileOpen()
		defer end()
		for len(stored) > 0 {
			part := stored[:min(len(stored), separateKeys)]
			stored = stored[len(part):]
			err := s.separate(ctx, part)
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

// whileOpen is a context that ends with the store: the client tries for as long as it lasts, for example
// while others split the same regions. end is to be called when it is needed no more.
func (s *store) whileOpen() (ctx context.Context, end func()) {
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

// separate splits regions at those of the cluster's keys where none begins; the client leaves
// out the others.
func (s *store) separate(ctx context.Context, keys [][]byte) error {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	_, err := s.kv.SplitRegions(e, keys, true, nil)
	return e.fail(err)
}
