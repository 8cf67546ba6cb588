package tikvkv

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// BenchmarkFollow measures the time from the acknowledgement of a commit until a reader that follows the log has its
// record, with three busy writers, and how often it reads.
func BenchmarkFollow(b *testing.B) {
	for _, c := range []struct {
		what  string
		clock func() time.Time
	}{{"memory", time.Now}, {"store", nil}} {
		b.Run(c.what, func(b *testing.B) { follow(b, c.clock) })
	}
}

// follow runs BenchmarkFollow with one clock.
func follow(b *testing.B, clock func() time.Time) {
	const writers = 3
	c := fake(b)
	s := openOn(b, c, Options{Clock: clock, Lease: time.Hour})
	defer s.Close()
	var mu sync.Mutex
	acknowledged, delivered := map[storage.Timestamp]time.Time{}, map[storage.Timestamp]time.Time{}
	ctx, stop := context.WithCancel(b.Context())
	looks := 0
	var followers, writing sync.WaitGroup
	after := s.Latest()
	followers.Go(func() {
		for last := false; !last; _ = s.WaitLog(ctx, after) {
			last = ctx.Err() != nil
			next, err := s.ReadLog(b.Context(), []byte("s"), after, func(ts, _ storage.Timestamp, _ []byte) bool {
				mu.Lock()
				defer mu.Unlock()
				delivered[ts] = time.Now()
				return true
			})
			if err != nil {
				b.Error(err)
				return
			}
			looks++
			after = next
		}
	})
	b.ResetTimer()
	for w := range writers {
		writing.Go(func() {
			for i := range b.N {
				tx, err := s.Begin(b.Context(), storage.TxnOptions{})
				if err != nil {
					b.Error(err)
					return
				}
				if err := appendAndSet(tx, fmt.Appendf(nil, "k%d-%d", w, i)); err != nil {
					b.Error(err)
				}
				ts, err := tx.Commit(b.Context(), storage.Synced)
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				acknowledged[ts] = time.Now()
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	b.StopTimer()
	stop()
	followers.Wait()
	var lags []time.Duration
	for ts, at := range acknowledged {
		seen, ok := delivered[ts]
		if !ok {
			b.Fatalf("the commit at %v was not delivered", ts)
		}
		lags = append(lags, max(0, seen.Sub(at)))
	}
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(looks)/float64(b.N*writers), "looks/commit")
}

// appendAndSet writes a key and a record of 1 KB.
func appendAndSet(tx storage.Txn, key []byte) error {
	if err := tx.Set(key, make([]byte, 1000)); err != nil {
		return err
	}
	return tx.AppendLog([]byte("s"), make([]byte, 1000))
}
