package storagetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// Benchmarks measures the operations of a store that the server uses most, with one goroutine and most of them
// also with 64. Compare cpu-µs/op (user and system time of the process per operation), which hardly depends on the
// load of the machine.
func Benchmarks(b *testing.B, open Open) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("insert-synced/%d", n), func(b *testing.B) { insert(b, open, n, storage.Synced) })
		b.Run(fmt.Sprintf("insert-buffered/%d", n), func(b *testing.B) { insert(b, open, n, storage.Buffered) })
		b.Run(fmt.Sprintf("update-synced/%d", n), func(b *testing.B) { update(b, open, n, 10_000) })
		b.Run(fmt.Sprintf("update-hot-synced/%d", n), func(b *testing.B) { update(b, open, n, 1) })
		b.Run(fmt.Sprintf("get/%d", n), func(b *testing.B) { get(b, open, n) })
	}
	b.Run("insert-1000-synced/1", func(b *testing.B) { insertMany(b, open) })
	b.Run("scan", func(b *testing.B) { scan(b, open) })
}

// benchKey appends the key of a document whose position is the i-th of a pseudo-random sequence.
func benchKey(dst []byte, i uint64) []byte {
	dst = append(dst, "r\x00\x00\x00\x00\x00\x00\x00\x01"...)
	dst = binary.BigEndian.AppendUint64(dst, i*0x9E3779B97F4A7C15)
	return binary.BigEndian.AppendUint64(append(dst, 0x40), i)
}

// benchValue returns 1 KiB, half of it compressible.
func benchValue() []byte {
	v := make([]byte, 1024)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range v {
		if v[i] = 'x'; i%2 == 0 {
			v[i] = byte(rng.Uint32())
		}
	}
	return v
}

// spread calls f b.N times on n goroutines together, and reports the CPU time per call.
func spread(b *testing.B, n int, f func(i uint64, scratch []byte) []byte) {
	b.ReportAllocs()
	var at atomic.Uint64
	var wg sync.WaitGroup
	before := cpuTime()
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			scratch := make([]byte, 0, 2048)
			for i := at.Add(1); i <= uint64(b.N) && !b.Failed(); i = at.Add(1) {
				scratch = f(i, scratch[:0])
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

func insert(b *testing.B, open Open, n int, d storage.Durability) {
	s := open(b)
	defer closeStore(b, s)
	ctx, value, stream := context.Background(), benchValue(), []byte("log")
	spread(b, n, func(i uint64, key []byte) []byte {
		key = benchKey(key, i)
		if err := insertOne(ctx, s, key, value, stream, d); err != nil {
			b.Error(err)
		}
		return key
	})
	m := s.Metrics()
	if m.Syncs > 0 {
		b.ReportMetric(float64(m.Commits)/float64(m.Syncs), "commits/sync")
	}
}

func insertOne(ctx context.Context, s storage.Store, key, value, stream []byte, d storage.Durability) error {
	t, err := s.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	if ok, err := t.Has(ctx, key); err != nil || ok {
		return errors.Join(err, fmt.Errorf("exists: %v", ok))
	}
	if err := t.Set(key, value); err != nil {
		return err
	}
	if err := t.AppendLog(stream, value[:64]); err != nil {
		return err
	}
	_, err = t.Commit(ctx, d)
	return err
}

func insertMany(b *testing.B, open Open) {
	s := open(b)
	defer closeStore(b, s)
	ctx, value, stream := context.Background(), benchValue(), []byte("log")
	var t storage.Txn
	spread(b, 1, func(i uint64, key []byte) []byte {
		var err error
		if t == nil {
			if t, err = s.Begin(ctx, storage.TxnOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		key = benchKey(key, i)
		if ok, err := t.Has(ctx, key); ok || err != nil {
			b.Fatal(ok, err)
		}
		t.Savepoint()
		err = errors.Join(t.Set(key, value), t.AppendLog(stream, value[:64]))
		if i%1000 == 0 || i == uint64(b.N) {
			_, commitErr := t.Commit(ctx, storage.Synced)
			err, t = errors.Join(err, commitErr), nil
		}
		if err != nil {
			b.Fatal(err)
		}
		return key
	})
}

func update(b *testing.B, open Open, n, keys int) {
	s := open(b)
	defer closeStore(b, s)
	ctx, value, stream := context.Background(), benchValue(), []byte("log")
	load(b, s, keys)
	spread(b, n, func(i uint64, scratch []byte) []byte {
		key := benchKey(make([]byte, 0, 64), i%uint64(keys))
		t, err := s.Begin(ctx, storage.TxnOptions{Latch: [][]byte{key}})
		if err != nil {
			b.Error(err)
			return scratch
		}
		defer t.Close()
		scratch, err = t.Get(ctx, key, scratch)
		if err == nil {
			err = errors.Join(t.Set(key, scratch), t.AppendLog(stream, value[:64]))
		}
		if err == nil {
			_, err = t.Commit(ctx, storage.Synced)
		}
		if err != nil {
			b.Error(err)
		}
		return scratch
	})
}

func get(b *testing.B, open Open, n int) {
	s := open(b)
	defer closeStore(b, s)
	const keys = 50_000
	load(b, s, keys)
	ctx := context.Background()
	spread(b, n, func(i uint64, scratch []byte) []byte {
		var k [32]byte
		r, err := s.Snapshot(ctx, 0)
		if err != nil {
			b.Error(err)
			return scratch
		}
		defer r.Close()
		if scratch, err = r.Get(ctx, benchKey(k[:0], i*7919%keys), scratch); err != nil {
			b.Error(err)
		}
		return scratch
	})
}

// scan measures an iteration over values of 1 KiB; one operation is one entry.
func scan(b *testing.B, open Open) {
	s := open(b)
	defer closeStore(b, s)
	load(b, s, 50_000)
	ctx := context.Background()
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	for i := 0; i < b.N; {
		it, err := r.Iter(ctx, storage.Range{}, storage.IterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for ; i < b.N && it.Next(); i++ {
			if len(it.Value()) != 1024 {
				b.Fatal("value")
			}
		}
		it.Close()
	}
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

// load writes keys 0..n-1.
func load(b *testing.B, s storage.Store, n int) {
	ctx, value := context.Background(), benchValue()
	for at := 0; at < n; {
		t, err := s.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for end := min(n, at+1000); at < end; at++ {
			if err := t.Set(benchKey(nil, uint64(at)), value); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := t.Commit(ctx, storage.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Sync(ctx); err != nil {
		b.Fatal(err)
	}
}

func closeStore(b *testing.B, s storage.Store) {
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
