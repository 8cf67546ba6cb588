package tikvkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// commit runs fill in a transaction and commits it.
func commit(t *testing.T, s storage.Store, fill func(tx storage.Txn) error) (storage.Timestamp, error) {
	t.Helper()
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(tx); err != nil {
		t.Fatal(err)
	}
	return tx.Commit(t.Context(), storage.Synced)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// set writes one key.
func set(key, value string) func(storage.Txn) error {
	return func(tx storage.Txn) error { return tx.Set([]byte(key), []byte(value)) }
}

// chunkKeys returns the number of keys in the space of chunks.
func chunkKeys(t *testing.T, s *store) int {
	t.Helper()
	now, err := s.oracle.fetchTS(t.Context())
	must(t, err)
	start, end := s.keys.space(spaceChunk)
	p, err := s.rows.page(t.Context(), now, pageRequest{start: start, end: end, keysOnly: true, rows: pageRowsMax})
	must(t, err)
	return len(p.keys)
}

// Large values are stored in chunks, which are deleted when the value is overwritten or deleted, or when its
// range is.
func TestLargeValues(t *testing.T) {
	s := openOn(t, fake(t), Options{Retention: time.Nanosecond})
	defer s.Close()
	value := func(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n/16) }
	write := func(key string, v []byte, chunks int) {
		t.Helper()
		_, err := commit(t, s, func(tx storage.Txn) error {
			if _, err := tx.Get(t.Context(), []byte(key), nil); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			if v == nil {
				return tx.Delete([]byte(key))
			}
			return tx.Set([]byte(key), v)
		})
		must(t, err)
		if n := chunkKeys(t, s); n != chunks {
			t.Errorf("%s of %d bytes: %d chunks, want %d", key, len(v), n, chunks)
		}
	}
	read := func(key string, want []byte) {
		t.Helper()
		r, err := s.Snapshot(t.Context(), 0)
		must(t, err)
		defer r.Close()
		if got, err := r.Get(t.Context(), []byte(key), []byte("x")); err != nil || !bytes.Equal(got[1:], want) {
			t.Errorf("Get of %s: %d bytes, %v", key, len(got), err)
		}
		must(t, r.GetMany(t.Context(), [][]byte{[]byte("none"), []byte(key)}, func(i int, got []byte) error {
			if (i == 1) != bytes.Equal(got, want) {
				t.Errorf("GetMany of %s: %d bytes at %d", key, len(got), i)
			}
			return nil
		}))
		it, err := r.Iter(t.Context(), storage.Range{Start: []byte(key)}, storage.IterOptions{})
		must(t, err)
		defer it.Close()
		if !it.Next() || string(it.Key()) != key || !bytes.Equal(it.Value(), want) || it.Err() != nil {
			t.Errorf("Iter of %s: %v", key, it.Err())
		}
	}
	write("a\x00b", value(10<<20), 3)
	read("a\x00b", value(10<<20))
	write("a", value(chunkBytes+16), 5)
	read("a", value(chunkBytes+16))
	write("a\x00b", value(5<<20), 4)
	read("a\x00b", value(5<<20))
	write("b", value(chunkBytes), 4)
	write("a", nil, 2)
	must(t, s.DeleteRange(t.Context(), storage.Range{Start: []byte("a\x00b\x00"), End: []byte("c")}))
	must(t, s.Collect(t.Context()))
	read("a\x00b", value(5<<20))
	must(t, s.DeleteRange(t.Context(), storage.Range{Start: []byte("a\x00"), End: []byte("a\x01")}))
	must(t, s.Collect(t.Context()))
	if n := chunkKeys(t, s); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
	rec := value(9 << 20)
	_, err := commit(t, s, func(tx storage.Txn) error {
		return errors.Join(tx.AppendLog([]byte("s"), []byte("small")), tx.AppendLog([]byte("s"), rec), tx.AppendLog([]byte("s"), []byte("last")))
	})
	must(t, err)
	var got []string
	_, err = s.ReadLog(t.Context(), []byte("s"), 0, func(_, _ storage.Timestamp, rec []byte) bool {
		got = append(got, string(rec))
		return true
	})
	if err != nil || len(got) != 3 || got[0] != "small" || got[1] != string(rec) || got[2] != "last" {
		t.Errorf("a large log record: %d records, %v", len(got), err)
	}
}

// The engine itself refuses keys, values and transactions that TiKV would refuse as too large, before it sends a
// request.
func TestBounds(t *testing.T) {
	s := openOn(t, fake(t), Options{})
	defer s.Close()
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	defer tx.Close()
	must(t, tx.Set(bytes.Repeat([]byte("k"), keyBytesMax), []byte("v")))
	for what, err := range map[string]error{
		"set": tx.Set(bytes.Repeat([]byte("k"), keyBytesMax+1), []byte("v")), "delete": tx.Delete(bytes.Repeat([]byte("k"), keyBytesMax+1)),
		"lock":       tx.Lock(t.Context(), bytes.Repeat([]byte("k"), keyBytesMax+1)),
		"many zeros": tx.Set(append([]byte("k"), make([]byte, keyBytesMax-1)...), make([]byte, chunkBytes+1)),
		"value":      tx.Set([]byte("k"), make([]byte, valueBytesMax)),
	} {
		if !errors.Is(err, storage.ErrValueTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, tx.Set([]byte("k1"), make([]byte, valueBytesMax-10)))
	if err := tx.Set([]byte("k2"), make([]byte, valueBytesMax-10)); !errors.Is(err, storage.ErrTxnTooLarge) {
		t.Errorf("128 MB: %v", err)
	}
	for _, name := range []string{"", "a/b", "ä", strings.Repeat("a", 65)} {
		if _, err := newLayout(name); err == nil {
			t.Errorf("%q is a keyspace", name)
		}
	}
}

// client-go takes a passed deadline for a dead store, and then avoids that store for all requests. So no
// deadline reaches the client; the caller gets its error in time nevertheless.
func TestNoDeadlines(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{})
	defer s.Close()
	_, err := commit(t, s, set("a", "1"))
	must(t, err)
	var seen, block atomic.Int64
	c.SetHook(func(ctx context.Context, _ *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if _, ok := ctx.Deadline(); ok {
			seen.Add(1)
		}
		if block.Load() > 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return next()
	})
	each := func(ctx context.Context) (errs []error) {
		tx, err := s.Begin(ctx, storage.TxnOptions{})
		must(t, err)
		_, err = tx.Get(ctx, []byte("a"), nil)
		errs = append(errs, err, tx.GetMany(ctx, [][]byte{[]byte("a")}, func(int, []byte) error { return nil }), tx.Claim(ctx, []byte("b")))
		it, err := tx.Iter(ctx, storage.Range{}, storage.IterOptions{})
		if err == nil {
			it.Next()
			err = it.Err()
			it.Close()
		}
		errs = append(errs, err, tx.Set([]byte("b"), []byte("2")), tx.AppendLog([]byte("s"), []byte("r")))
		_, err = tx.Commit(ctx, storage.Synced)
		_, logErr := s.ReadLog(ctx, []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { return true })
		return append(errs, err, logErr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, errors.Join(each(ctx)...))
	block.Store(1)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for i, err := range each(ctx) {
		if i != 4 && i != 5 && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call %d of a cluster that does not answer: %v", i, err)
		}
	}
	block.Store(0)
	if seen.Load() > 0 {
		t.Errorf("%d requests had a deadline", seen.Load())
	}
	must(t, errors.Join(each(t.Context())...)) // the store is not avoided
}

// Destroying a dropped range does not end transactions that write outside of the range.
func TestDestroyAndOthers(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{})
	defer s.Close()
	_, err := commit(t, s, set("gone", "1"))
	must(t, err)
	inside, outside := make(chan error, 1), make(chan error, 1)
	prewritten, removed := make(chan bool, 2), make(chan bool)
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdCommit {
			prewritten <- true
			<-removed
		}
		return next()
	})
	for key, to := range map[string]chan error{"gone": inside, "kept": outside} {
		tx, err := s.Begin(t.Context(), storage.TxnOptions{})
		must(t, err)
		must(t, tx.Set([]byte(key), []byte("2")))
		go func() {
			_, err := tx.Commit(t.Context(), storage.Synced)
			to <- err
		}()
	}
	<-prewritten
	<-prewritten
	start, end := s.keys.users(storage.Range{Start: []byte("gone"), End: []byte("h")})
	must(t, s.dropped.destroy(t.Context(), start, end))
	close(removed)
	if err := <-outside; err != nil {
		t.Errorf("a commit outside of the range: %v", err)
	}
	if err := <-inside; !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a commit in the range: %v", err)
	}
	c.SetHook(nil)
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	for key, want := range map[string]bool{"gone": false, "kept": true} {
		if ok, err := r.Has(t.Context(), []byte(key)); ok != want || err != nil {
			t.Errorf("%s is there: %v, %v", key, ok, err)
		}
	}
}

// gone is the error of a broken connection.
var gone = status.Error(codes.Unavailable, "the connection broke")

// An unreachable cluster gives ErrUnavailable, within the timeout.
func TestUnreachable(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{})
	defer s.Close()
	_, err := commit(t, s, set("a", "1"))
	must(t, err)
	s.limits.read, s.limits.commit = 100*time.Millisecond, 100*time.Millisecond
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	defer tx.Close()
	other, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, other.Set([]byte("b"), []byte("1")))
	c.SetHook(func(context.Context, *tikvrpc.Request, func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		return nil, gone
	})
	_, err = tx.Get(t.Context(), []byte("a"), nil)
	it, iterErr := tx.Iter(t.Context(), storage.Range{}, storage.IterOptions{})
	must(t, iterErr)
	it.Next()
	_, commitErr := other.Commit(t.Context(), storage.Synced)
	c.StopPD(gone)
	_, beginErr := s.Begin(t.Context(), storage.TxnOptions{})
	_, nowErr := s.Now(t.Context())
	for what, err := range map[string]error{"Get": err, "Iter": it.Err(), "Commit": commitErr, "Begin": beginErr, "Now": nowErr} {
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	it.Close()
	c.StopPD(nil)
	c.SetHook(nil)
	s.limits = defaultLimits
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	if ok, err := r.Has(t.Context(), []byte("b")); ok || err != nil {
		t.Errorf("a commit that was refused as unreachable: %v, %v", ok, err)
	}
}

// If the cluster answers none of the commit requests of a commit, whether it executes them or not, its outcome is
// looked up: it is committed, or it fails with a conflict.
func TestLostAnswers(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("arrives=%v", arrives), func(t *testing.T) {
			c := fake(t)
			s := openOn(t, c, Options{})
			defer s.Close()
			s.limits.commit = 200 * time.Millisecond
			c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type != tikvrpc.CmdCommit {
					return next()
				}
				if arrives {
					_, _ = next()
				}
				return nil, gone
			})
			var ts storage.Timestamp
			var err error
			ts, err = commit(t, s, func(tx storage.Txn) error {
				return errors.Join(tx.Set([]byte("a"), []byte("1")), tx.AppendLog([]byte("s"), []byte("r")))
			})
			c.SetHook(nil)
			if arrives != (err == nil) || !arrives && !errors.Is(err, storage.ErrConflict) {
				t.Fatalf("%v, %v", ts, err)
			}
			if s.committer.settled.Load() != 1 {
				t.Errorf("%d commits were settled", s.committer.settled.Load())
			}
			r, err := s.Snapshot(t.Context(), 0)
			must(t, err)
			defer r.Close()
			if ok, err := r.Has(t.Context(), []byte("a")); ok != arrives || err != nil {
				t.Errorf("the key is there: %v, %v", ok, err)
			}
			n := 0
			_, err = s.ReadLog(t.Context(), []byte("s"), 0, func(at, _ storage.Timestamp, _ []byte) bool {
				if n++; at != ts {
					t.Errorf("the record is at %v, the commit at %v", at, ts)
				}
				return true
			})
			if err != nil || n != map[bool]int{true: 1, false: 0}[arrives] {
				t.Errorf("%d records, %v", n, err)
			}
		})
	}
}

// While the cluster is away, the outcome of a commit stays undetermined. A reader that follows the log is
// woken when it turns out that the commit has happened.
func TestUndetermined(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: time.Minute})
	defer s.Close()
	s.limits.commit, s.limits.settle = 50*time.Millisecond, 50*time.Millisecond
	begun := s.Latest()
	var away atomic.Bool
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdCommit && !away.Swap(true) {
			_, _ = next()
		}
		if away.Load() {
			return nil, gone
		}
		return next()
	})
	_, err := commit(t, s, func(tx storage.Txn) error { return tx.AppendLog([]byte("s"), []byte("r")) })
	if !errors.Is(err, storage.ErrUndetermined) {
		t.Fatalf("got %v", err)
	}
	c.SetHook(nil)
	must(t, s.WaitLog(t.Context(), max(begun, s.newestCommit())))
	n := 0
	_, err = s.ReadLog(t.Context(), []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { n++; return true })
	if n != 1 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// newestCommit returns the timestamp of the newest commit of this process.
func (s *store) newestCommit() storage.Timestamp {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.newest
}

// stalls delays some prewrites and commits.
func stalls(c *tikvfake.Cluster, longest time.Duration) {
	var n atomic.Int64
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite || req.Type == tikvrpc.CmdCommit {
			if k := n.Add(1); k%7 == 0 {
				<-time.After(longest * time.Duration(k%5+1) / 5)
			}
		}
		return next()
	})
}

// logged runs writers that stall between taking their place and committing, and a reader, which may be
// another store, that follows the log. It counts the commits that the reader misses and the commits that were
// refused.
func logged(t *testing.T, s, reader *store, c *tikvfake.Cluster) (missing, refused int) {
	const writers, each = 6, 60
	stalls(c, 120*time.Millisecond)
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[storage.Timestamp]bool{}
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				tx, err := s.Begin(t.Context(), storage.TxnOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(tx.Set(fmt.Appendf(nil, "k%d", w), fmt.Append(nil, i+1)), tx.AppendLog([]byte("s"), []byte("r")))
				ts, commitErr := tx.Commit(t.Context(), storage.Synced)
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case commitErr == nil:
					acknowledged[ts] = true
				case errors.Is(commitErr, storage.ErrConflict):
					refused++
				default:
					t.Error(commitErr)
				}
				mu.Unlock()
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	seen := map[storage.Timestamp]bool{}
	var after, last storage.Timestamp
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
		}
		var err error
		after, err = reader.ReadLog(t.Context(), []byte("s"), after, func(ts, _ storage.Timestamp, _ []byte) bool {
			if ts <= last {
				t.Errorf("%v after %v", ts, last)
			}
			last = ts
			seen[ts] = true
			return true
		})
		must(t, err)
	}
	c.SetHook(nil)
	for ts := range acknowledged {
		if !seen[ts] {
			missing++
		}
	}
	if len(seen) > len(acknowledged) {
		t.Errorf("%d commits seen, %d acknowledged", len(seen), len(acknowledged))
	}
	return missing, refused
}

// Commits that stall longer than the window are refused, and the log is complete and in order. Control: if the writer
// has a longer window than the reader, and refuses none of them, the reader misses records.
func TestLogWithStalls(t *testing.T) {
	c := fake(t)
	for what, clock := range map[string]func() time.Time{"the log in the store": nil, "its tail in memory": time.Now} {
		s := openOn(t, c, Options{Clock: clock, Keyspace: strings.ReplaceAll(what, " ", "-")})
		s.limits.windows = [classes]int64{40, 40}
		missing, refused := logged(t, s, s, c)
		if missing > 0 || refused == 0 {
			t.Errorf("%s: %d commits are missing, %d were refused", what, missing, refused)
		}
		must(t, s.Close())
	}

	s := openOn(t, c, Options{})
	defer s.Close()
	unbounded := *s.settings
	unbounded.limits.windows = [classes]int64{40, 40} // the commits exceed it
	reader := newStore(&unbounded, s.cluster)
	reader.lease.term.Load().end.Store(math.MaxInt64)
	if missing, refused := logged(t, s, reader, c); missing == 0 || refused > 0 {
		t.Errorf("without a bound %d commits are missing, %d were refused: this test shows nothing", missing, refused)
	}
}
