package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// NemesisOptions are the options of one run of Nemesis; zero fields have defaults.
type NemesisOptions struct {
	Rounds  int // number of transactions of each worker; 0 = 300
	Workers int // number of workers of each kind; 0 = 4
	Seed    uint64
	Unknown bool // the store may return ErrUndetermined; then sums are checked, but not exact counts
}

// accounts is the number of accounts between which the workers move money; the sum of all never changes.
const (
	accounts = 20
	startSum = accounts * 100
)

// Nemesis tests the isolation of a store: it runs concurrent workers on the same keys, and checks:
//
//   - transfers between accounts: every snapshot, read by keys or by scan, forward
//     or backward, has the same sum;
//   - increments of a few counters, latched or not: none is lost;
//   - every commit's log record: a log reader sees them in timestamp order, none
//     twice, none missing and, unless commits can be undetermined, none more;
//   - rolled back savepoints and abandoned transactions leave nothing.
func Nemesis(t *testing.T, open Open, o NemesisOptions) {
	if o.Rounds == 0 {
		o.Rounds = 300
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	n := &nemesis{t: t, s: open(t), o: o, ctx: t.Context()}
	n.setup()
	var writers, watchers sync.WaitGroup
	for w := range o.Workers {
		rng := func(kind uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, uint64(w)<<8|kind)) }
		writers.Go(func() { n.transfers(rng(1)) })
		writers.Go(func() { n.counters(w, rng(2)) })
		watchers.Go(func() { n.sums(rng(3)) })
	}
	tailing, stopTail := context.WithCancel(n.ctx)
	defer stopTail()
	watchers.Go(func() { n.tail(tailing) })
	writers.Wait()
	n.over.Store(true)
	if err := n.s.Sync(n.ctx); err != nil {
		t.Error(err)
	}
	stopTail()
	watchers.Wait()
	n.finish()
	if err := n.s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

type nemesis struct {
	t    *testing.T
	s    storage.Store
	o    NemesisOptions
	ctx  context.Context
	over atomic.Bool

	mu      sync.Mutex
	counted int                            // acknowledged increments
	commits map[storage.Timestamp]struct{} // acknowledged commits with a log record
	seen    map[storage.Timestamp]struct{} // by the log reader
}

func account(i int) []byte { return fmt.Appendf(nil, "account%02d", i) }

func (n *nemesis) setup() {
	n.commits, n.seen = map[storage.Timestamp]struct{}{}, map[storage.Timestamp]struct{}{}
	n.retry(func(tx storage.Txn) error {
		for i := range accounts {
			if err := setInt(tx, account(i), 100); err != nil {
				return err
			}
		}
		return nil
	})
}

// retry runs f in transactions with latches on the given keys, until one commits or fails otherwise than by a
// conflict or, with Unknown, an old snapshot. It reports whether the commit has certainly happened.
func (n *nemesis) retry(f func(tx storage.Txn) error, latch ...[]byte) bool {
	for i := 0; ; i++ {
		tx, err := n.s.Begin(n.ctx, storage.TxnOptions{Latch: latch})
		if err == nil {
			if err = f(tx); err == nil {
				d := storage.Durability(i+len(latch)) % 2
				var ts storage.Timestamp
				if ts, err = tx.Commit(n.ctx, d); err == nil {
					n.mu.Lock()
					n.commits[ts] = struct{}{}
					n.mu.Unlock()
					return true
				}
			}
			tx.Close()
		}
		switch {
		case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrSnapshotTooOld) && n.o.Unknown:
			time.Sleep(time.Duration(rand.IntN(50*(min(i, 20)+1))) * time.Microsecond)
		case errors.Is(err, storage.ErrUndetermined) && n.o.Unknown:
			return false
		default:
			n.t.Errorf("transaction: %v", err)
			return false
		}
	}
}

func (n *nemesis) transfers(rng *rand.Rand) {
	for round := range n.o.Rounds {
		from, to, amount := rng.IntN(accounts), rng.IntN(accounts), rng.IntN(10)
		if from == to {
			continue
		}
		n.retry(func(tx storage.Txn) error {
			a, err := getInt(n.ctx, tx, account(from))
			if err != nil {
				return err
			}
			b, err := getInt(n.ctx, tx, account(to))
			if err != nil {
				return err
			}
			sp := tx.Savepoint()
			if err := errors.Join(setInt(tx, account(from), -1), tx.Delete(account(to)), tx.AppendLog([]byte("log"), []byte("undone"))); err != nil {
				return err
			}
			tx.RollbackTo(sp)
			return errors.Join(setInt(tx, account(from), a-amount), setInt(tx, account(to), b+amount),
				tx.AppendLog([]byte("log"), []byte("transfer")))
		})
		if round%10 == 0 { // abandon one
			if tx, err := n.s.Begin(n.ctx, storage.TxnOptions{}); err == nil {
				if err := errors.Join(setInt(tx, account(from), 1e6), tx.AppendLog([]byte("log"), []byte("undone"))); err != nil {
					n.t.Error(err)
				}
				tx.Close()
			}
		}
	}
}

func (n *nemesis) counters(w int, rng *rand.Rand) {
	for range n.o.Rounds {
		key := fmt.Appendf(nil, "counter%d", rng.IntN(3))
		var latch [][]byte
		if w%2 == 0 {
			latch = [][]byte{key}
		}
		known := n.retry(func(tx storage.Txn) error {
			v, err := getInt(n.ctx, tx, key)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return errors.Join(setInt(tx, key, v+1), tx.AppendLog([]byte("log"), key))
		}, latch...)
		if known {
			n.mu.Lock()
			n.counted++
			n.mu.Unlock()
		}
	}
}

// sums reads all accounts in one snapshot after the other, in different ways, and checks that their sum is
// unchanged.
func (n *nemesis) sums(rng *rand.Rand) {
	for !n.over.Load() {
		r, err := n.s.Snapshot(n.ctx, 0)
		if err != nil {
			if !n.o.Unknown {
				n.t.Error(err)
			}
			continue
		}
		for range 3 { // the same snapshot several times
			sum, err := n.sum(r, rng.IntN(3))
			if err != nil {
				n.t.Error(err)
			} else if sum != startSum {
				n.t.Errorf("sum %d at %v", sum, r.ReadTimestamp())
				n.over.Store(true)
			}
		}
		r.Close()
		time.Sleep(time.Duration(rng.IntN(200)) * time.Microsecond)
	}
}

func (n *nemesis) sum(r storage.Reader, way int) (sum int, err error) {
	switch way {
	case 0:
		keys := make([][]byte, accounts)
		for i := range keys {
			keys[i] = account(i)
		}
		err = r.GetMany(n.ctx, keys, func(_ int, v []byte) error {
			x, err := parseInt(v)
			sum += x
			return err
		})
	default:
		it, err := r.Iter(n.ctx, storage.Range{Start: []byte("account"), End: []byte("b")}, storage.IterOptions{Reverse: way == 1})
		if err != nil {
			return 0, err
		}
		defer it.Close()
		for it.Next() {
			x, err := parseInt(it.Value())
			if err != nil {
				return 0, err
			}
			sum += x
		}
		return sum, it.Err()
	}
	return sum, err
}

// tail reads the change log until ctx ends, and then to the log's end, and checks the order of its records.
func (n *nemesis) tail(ctx context.Context) {
	var after, last storage.Timestamp
	for ended := false; !ended; {
		err := n.s.WaitLog(ctx, after)
		if ended = errors.Is(err, context.Canceled); ended {
			err = nil
		}
		if err == nil {
			after, err = n.s.ReadLog(n.ctx, []byte("log"), after, func(ts, _ storage.Timestamp, rec []byte) bool {
				if ts <= last {
					n.t.Errorf("log: %v after %v", ts, last)
				}
				last = ts
				n.seen[ts] = struct{}{}
				if string(rec) == "undone" {
					n.t.Error("log: a record that was rolled back")
				}
				return true
			})
		}
		if err != nil {
			n.t.Error(err)
			return
		}
	}
}

func (n *nemesis) finish() {
	r, err := n.s.Snapshot(n.ctx, 0)
	for err != nil && n.o.Unknown {
		r, err = n.s.Snapshot(n.ctx, 0)
	}
	if err != nil {
		n.t.Error(err)
		return
	}
	defer r.Close()
	if sum, err := n.sum(r, 0); err != nil || sum != startSum {
		n.t.Errorf("sum %d, %v", sum, err)
	}
	total := 0
	for i := range 3 {
		v, err := getInt(n.ctx, r, fmt.Appendf(nil, "counter%d", i))
		if err != nil {
			n.t.Error(err)
		}
		total += v
	}
	if total < n.counted || total != n.counted && !n.o.Unknown {
		n.t.Errorf("counters say %d, %d increments were acknowledged", total, n.counted)
	}
	missing := 0
	for ts := range n.commits {
		if _, ok := n.seen[ts]; !ok {
			missing++
		}
	}
	if missing > 1 { // the setup has no log record
		n.t.Errorf("%d acknowledged commits are missing in the log", missing-1)
	}
	if len(n.seen) > len(n.commits)-1 && !n.o.Unknown {
		n.t.Errorf("%d commits in the log, %d acknowledged", len(n.seen), len(n.commits)-1)
	}
}

func setInt(tx storage.Txn, key []byte, v int) error { return tx.Set(key, fmt.Append(nil, v)) }

func getInt(ctx context.Context, r storage.Reader, key []byte) (int, error) {
	v, err := r.Get(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return parseInt(v)
}

func parseInt(v []byte) (n int, err error) {
	_, err = fmt.Sscan(string(v), &n)
	return n, err
}
