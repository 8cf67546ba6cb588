package rooms

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// askedStore is a store that counts reads of its newest timestamp, and lets a test commit a write just before the
// server opens a snapshot.
type askedStore struct {
	storage.Store
	asked  atomic.Int64
	before func()
}

func (s *askedStore) Latest() storage.Timestamp {
	s.asked.Add(1)
	return s.Store.Latest()
}

func (s *askedStore) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.Store.Snapshot(ctx, at)
}

// A command that reads or writes documents reads the store's newest timestamp at most once; an insert that fills in a
// timestamp field, at most twice.
func TestTimeAskedOnce(t *testing.T) {
	store := &askedStore{Store: memkv.Open(memkv.Options{})}
	t.Cleanup(func() { store.Close() })
	c := newWorld(t, store).dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	for command, most := range map[string]int64{
		`{insert: "c", documents: [{}, {}]}`:                                            1,
		`{insert: "c", documents: [{t: {$timestamp: {t: 0, i: 0}}}]}`:                   2, // for the field
		`{update: "c", updates: [{q: {_id: 1}, u: {$inc: {n: 1}}}]}`:                    1,
		`{findAndModify: "c", query: {_id: 1}, update: {$inc: {n: 1}}}`:                 1,
		`{delete: "c", deletes: [{q: {_id: 2}, limit: 1}, {q: {}, limit: 1}]}`:          1,
		`{find: "c", filter: {n: {$gt: 0}}}`:                                            1,
		`{find: "c", readConcern: {level: "majority"}}`:                                 1,
		`{find: "c", readConcern: {afterClusterTime: {$timestamp: {t: 0, i: 1}}}}`:      1,
		`{aggregate: "c", pipeline: [{$match: {a: "$$CLUSTER_TIME"}}], cursor: {}}`:     1,
		`{aggregate: "c", pipeline: [{$group: {_id: null, n: {$sum: 1}}}], cursor: {}}`: 1,
		`{hello: 1}`: 2, // the age of its data is unknown
	} {
		store.asked.Store(0)
		c.ok(command)
		if n := store.asked.Load(); n > most {
			t.Errorf("%s: asked %d times", command, n)
		}
	}
}

// The cluster time and operation time in a reply are not before the timestamps of the data that the command has read
// or written.
func TestTimesOfReply(t *testing.T) {
	store := &askedStore{Store: memkv.Open(memkv.Options{})}
	t.Cleanup(func() { store.Close() })
	w := newWorld(t, store)
	c, other := w.dial(), w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	for _, command := range []string{
		`{find: "c"}`,
		`{aggregate: "c", pipeline: [{$count: "n"}], cursor: {}}`,
		`{distinct: "c", key: "_id"}`,
		`{insert: "c", documents: [{}]}`,
		`{listCollections: 1}`,
	} {
		var theirs storage.Timestamp
		store.before = func() { theirs = timeOf(other.ok(`{insert: "c", documents: [{}]}`).Get("operationTime")) }
		r := c.ok(command)
		if store.before != nil { // the command opens no snapshot itself
			store.before()
			store.before = nil
			r = c.ok(command)
		}
		op, cluster := timeOf(r.Get("operationTime")), timeOf(at(r, "$clusterTime.clusterTime"))
		if op < theirs || cluster < op {
			t.Errorf("%s: operationTime %s, $clusterTime %s, another had committed at %s", command, op, cluster, theirs)
		}
	}
}

// otherStore is a store with commits of peers that this server has not seen yet: Latest returns met, and Now the newest
// timestamp of all, or err.
type otherStore struct {
	storage.Store
	met storage.Timestamp
	err error
}

func (s *otherStore) Latest() storage.Timestamp { return s.met }

func (s *otherStore) Now(ctx context.Context) (storage.Timestamp, error) {
	if s.err != nil {
		return 0, s.err
	}
	return s.Store.Now(ctx)
}

// A read with afterClusterTime of a peer's write is not refused, although this time is ahead of this server's newest
// timestamp; a read at a time that is ahead of all servers is refused. If the store cannot return the newest timestamp
// of all servers, the read fails with an error on which drivers retry.
func TestReadAfterOthers(t *testing.T) {
	store := &otherStore{Store: memkv.Open(memkv.Options{Clock: time.Now})}
	t.Cleanup(func() { store.Close() })
	c := newWorld(t, store).dial()
	store.met = store.Store.Latest()
	theirs := timeOf(c.ok(`{insert: "c", documents: [{_id: 1}]}`).Get("operationTime"))
	read := func(at storage.Timestamp) string {
		return fmt.Sprintf(`{find: "c", readConcern: {afterClusterTime: {$timestamp: {t: %d, i: %d}}}}`, at.Seconds(), at.Increment())
	}
	c.ok(read(theirs))
	if code := c.code(read(theirs + storage.MakeTimestamp(100, 0))); code != int64(mongoerr.InvalidOptions) {
		t.Errorf("a time ahead of everybody's: %d", code)
	}
	store.err = fmt.Errorf("no oracle: %w", storage.ErrUnavailable)
	if code := c.code(read(theirs + storage.MakeTimestamp(100, 0))); code != int64(mongoerr.NetworkTimeout) || !mongoerr.Code(code).RetryableWrite() {
		t.Errorf("nobody tells the time: %d, which drivers do not retry", code)
	}
}
