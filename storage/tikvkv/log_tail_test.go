package tikvkv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
)

// records reads a stream after a timestamp.
func records(t *testing.T, s storage.Store, stream string, after storage.Timestamp) (list []string, next storage.Timestamp) {
	t.Helper()
	next, err := s.ReadLog(t.Context(), []byte(stream), after, func(_, _ storage.Timestamp, rec []byte) bool {
		list = append(list, string(rec))
		return true
	})
	must(t, err)
	return list, next
}

// appending returns a function that appends records to streams; pairs are stream, record, …
func appending(pairs ...string) func(storage.Txn) error {
	return func(tx storage.Txn) (err error) {
		for pair := range slices.Chunk(pairs, 2) {
			err = errors.Join(err, tx.AppendLog([]byte(pair[0]), []byte(pair[1])))
		}
		return err
	}
}

// A commit is stuck while another one ends. If the stuck commit has not fetched its commit time by then, it will come
// after the other one, so readers of the log do not wait for it. If it has, readers wait for it; if it takes too
// long, they read the log from the store, which pushes the stuck commit's time away.
func TestTailWaits(t *testing.T) {
	for kind, scans := range map[tikvrpc.CmdType]bool{tikvrpc.CmdPrewrite: false, tikvrpc.CmdCommit: true} {
		t.Run(kind.String(), func(t *testing.T) { tailWaits(t, kind, scans) })
	}
}

// tailWaits runs TestTailWaits with one kind of request of a commit blocked; scans is true if the test expects that
// the log is then read from the store.
func tailWaits(t *testing.T, kind tikvrpc.CmdType, scans bool) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: time.Hour, Clock: newWatch().Now})
	defer s.Close()
	begun := s.Latest()
	stuck, free := make(chan struct{}), make(chan struct{})
	var first sync.Once
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == kind {
			first.Do(func() {
				close(stuck)
				<-free
			})
		}
		return next()
	})
	slow := make(chan error, 1)
	go func() {
		tx, err := s.Begin(context.Background(), storage.TxnOptions{})
		if err == nil {
			err = appending("s", "slow")(tx)
		}
		if err == nil {
			_, err = tx.Commit(context.Background(), storage.Synced)
		}
		slow <- err
	}()
	<-stuck
	c.SetHook(nil) // the request stays blocked
	_, err := commit(t, s, appending("s", "fast"))
	must(t, err)
	c.Count()
	list, next := records(t, s, "s", begun)
	if sent, _ := c.Count(); !slices.Equal(list, []string{"fast"}) || (sent[tikvrpc.CmdScan] > 0) != scans {
		t.Errorf("with a commit under way: %v, %v", list, sent)
	}
	close(free)
	must(t, <-slow)
	c.Count()
	list, _ = records(t, s, "s", next)
	if sent, times := c.Count(); !slices.Equal(list, []string{"slow"}) || len(sent) > 0 || times > 0 {
		t.Errorf("after it: %v for %v", list, sent)
	}
}

// The tail of the change log in memory holds records up to its maximum size; older records are read from the store,
// and a read from before truncated ones fails.
func TestTailBounds(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: time.Hour, Clock: newWatch().Now})
	defer s.Close()
	begun := s.Latest()
	large := string(make([]byte, partBytes+partBytes/2))
	var times []storage.Timestamp
	for i := range 7 {
		ts, err := commit(t, s, appending("s", large, "other", "o", "s", string(rune('a'+i))))
		must(t, err)
		times = append(times, ts)
	}
	if n := s.log.tail.bytes(); n > tailBytesMax || n < tailBytesMax/2 {
		t.Errorf("the tail has %d bytes", n)
	}
	for i, after := range append([]storage.Timestamp{begun}, times...) {
		c.Count()
		list, _ := records(t, s, "s", after)
		sent, _ := c.Count()
		if len(list) != 2*(len(times)-i) || len(list) > 0 && (list[0] != large || list[len(list)-1] != "g") {
			t.Errorf("after commit %d: %d records", i, len(list))
		}
		if inMemory := oracleOf(after) >= s.log.tail.floor; inMemory != (len(sent) == 0) || inMemory != (i > 1) {
			t.Errorf("after commit %d: %v were sent", i, sent)
		}
	}
	other, _ := records(t, s, "other", times[3])
	if !slices.Equal(other, []string{"o", "o", "o"}) {
		t.Errorf("another stream has %q", other)
	}
	must(t, s.TruncateLog(t.Context(), []byte("s"), times[5]))
	if _, err := s.ReadLog(t.Context(), []byte("s"), times[4], nil); !errors.Is(err, storage.ErrLogTruncated) {
		t.Errorf("before what was truncated: %v", err)
	}
	if list, _ := records(t, s, "s", times[5]); len(list) != 2 {
		t.Errorf("after what was truncated: %d records", len(list))
	}
}
