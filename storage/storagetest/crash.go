package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// Disk is the simulated disk of a store in a crash test.
type Disk interface {
	// Open opens the store on the disk.
	Open(tb testing.TB) storage.Store
	// Cut returns the disk as a power cut at this moment might leave it: it has the synced data, and of the other
	// data keepPercent percent, chosen by rng. The old disk may still be written to, but it is not read any more.
	Cut(rng *rand.Rand, keepPercent int) Disk
}

// Crash tests whether a store survives power cuts. Each round runs concurrent transactions, cuts the power in
// their midst, opens the store again and checks it. A transaction writes two keys and a log record with the same
// content. Checked: every acknowledged Synced commit and every durable one is there; no commit is there in part;
// if a commit is there, all earlier ones are; timestamps still increase.
func Crash(t *testing.T, disk Disk, rounds int, seed uint64) {
	c := &crash{t: t, rng: rand.New(rand.NewPCG(seed, 7))}
	for round := range rounds {
		disk = c.round(disk, round)
		if t.Failed() {
			t.Logf("seed %d, round %d", seed, round)
			return
		}
	}
}

type crash struct {
	t    *testing.T
	rng  *rand.Rand
	base storage.Timestamp // after the last reopening
	kept int               // records in the log then
}

const (
	crashWriters = 4
	crashKeys    = 50
)

func (c *crash) round(disk Disk, round int) Disk {
	s := disk.Open(c.t)
	ctx := context.Background()
	var mu sync.Mutex
	var order []storage.Timestamp // the acknowledged commits of this round, durable or not
	var synced storage.Timestamp  // newest acknowledged Synced commit
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range crashWriters {
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), uint64(w)))
		wg.Go(func() {
			for i := 0; !stop.Load() && i < 400; i++ {
				d := storage.Durability(rng.IntN(2))
				ts, err := crashWrite(ctx, s, rng.IntN(crashKeys), fmt.Sprintf("%d-%d-%d-%0*d", round, w, i, rng.IntN(2000), 0), d)
				if errors.Is(err, storage.ErrConflict) {
					continue
				}
				if err != nil {
					c.t.Errorf("commit: %v", err)
					return
				}
				mu.Lock()
				order = append(order, ts)
				if d == storage.Synced {
					synced = max(synced, ts)
				}
				mu.Unlock()
			}
		})
	}
	for target := c.rng.IntN(120); ; {
		mu.Lock()
		n := len(order)
		mu.Unlock()
		if n >= target {
			break
		}
		if err := s.WaitLog(ctx, s.Durable()); err != nil {
			c.t.Error(err)
			break
		}
	}
	durable := s.Durable()
	mu.Lock()
	must := max(synced, durable)
	mu.Unlock()
	after := disk.Cut(c.rng, []int{0, 10, 50, 100}[c.rng.IntN(4)])
	stop.Store(true)
	wg.Wait()
	atCut := map[storage.Timestamp]bool{}
	for _, ts := range order {
		atCut[ts] = true
	}
	if err := s.Close(); err != nil {
		c.t.Errorf("Close: %v", err)
	}
	c.verify(after, atCut, must)
	return after
}

// crashWrite commits a transaction that writes the same content under two keys and to the log.
func crashWrite(ctx context.Context, s storage.Store, key int, content string, d storage.Durability) (storage.Timestamp, error) {
	tx, err := s.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return 0, err
	}
	defer tx.Close()
	if err := errors.Join(tx.Set(fmt.Appendf(nil, "a%03d", key), []byte(content)), tx.Set(fmt.Appendf(nil, "b%03d", key), []byte(content)),
		tx.AppendLog([]byte("log"), fmt.Appendf(nil, "%03d%s", key, content))); err != nil {
		return 0, err
	}
	return tx.Commit(ctx, d)
}

// verify opens the store on the disk after the cut, and checks its content. must is the newest timestamp that was
// durable before the cut; made holds the commits of the round.
func (c *crash) verify(disk Disk, made map[storage.Timestamp]bool, must storage.Timestamp) {
	s := disk.Open(c.t)
	defer func() {
		if err := s.Close(); err != nil {
			c.t.Errorf("Close: %v", err)
		}
	}()
	ctx := context.Background()
	want := map[string]string{}
	n, last := 0, storage.Timestamp(0)
	if _, err := s.ReadLog(ctx, []byte("log"), 0, func(ts, _ storage.Timestamp, rec []byte) bool {
		n++
		last = ts
		want[string(rec[:3])] = string(rec[3:])
		if ts > c.base && !made[ts] {
			c.t.Errorf("log: commit %v was never made", ts)
		}
		return true
	}); err != nil {
		c.t.Errorf("ReadLog: %v", err)
	}
	expect := c.kept // the number of log records up to the last one, if none is missing
	for ts := range made {
		if ts <= max(last, must) {
			expect++
		}
	}
	if n != expect {
		c.t.Errorf("log: %d records up to %v (durable: %v), want %d", n, last, must, expect)
	}
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer r.Close()
	for i := range crashKeys {
		k := fmt.Sprintf("%03d", i)
		for _, family := range "ab" {
			v, err := r.Get(ctx, []byte(string(family)+k), nil)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				c.t.Error(err)
			}
			if string(v) != want[k] {
				c.t.Errorf("%c%s = %.20q, the log says %.20q", family, k, v, want[k])
			}
		}
	}
	if s.Latest() < last {
		c.t.Errorf("Latest is %v, the log goes to %v", s.Latest(), last)
	}
	c.base, c.kept = s.Latest(), n
}
