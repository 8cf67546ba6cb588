package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// Open is a function of an engine's test that returns an empty store, which the test closes.
type Open func(tb testing.TB) storage.Store

// Conformance checks an engine against the contract of package storage, by subtests of its rules.
func Conformance(t *testing.T, open Open) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			e := env{t: t, s: open(t), ctx: t.Context()}
			c.run(e)
			if err := e.s.Close(); err != nil && c.name != "a closed store refuses" {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// conformance lists the sentences of the contract.
var conformance = []struct {
	name string
	run  func(e env)
}{
	{"txn reads its snapshot and its own writes", snapshotAndOwnWrites},
	{"first committer wins", firstCommitterWins},
	{"deletes and inserts of absent keys conflict", absentKeysConflict},
	{"write skew is possible and Lock prevents it", writeSkew},
	{"Lock changes nothing", lockChangesNothing},
	{"Claim warns early", claimWarns},
	{"open readers share their timestamp", sharedTimestamps},
	{"begin in the past conflicts with what came after", beginInThePast},
	{"unknown timestamps are refused", unknownTimestamps},
	{"Get appends and copies", getCopies},
	{"Has agrees with Get", hasAgrees},
	{"GetMany emits in order", getMany},
	{"iterators walk ranges both ways", iterRanges},
	{"iterators merge own writes", iterMerges},
	{"Seek goes only onward", seekOnward},
	{"an iterator moves to other ranges", iterMoves},
	{"an iterator keeps its snapshot", iterKeepsSnapshot},
	{"an iterator goes on under another context", iterResumed},
	{"keys and values are checked", keysChecked},
	{"Set, Delete, Lock and AppendLog copy", writesCopy},
	{"savepoints undo writes, locks and log", savepoints},
	{"a snapshot of a transaction has no later writes", snapshotOfTxn},
	{"Commit ends the transaction", commitEnds},
	{"Close abandons", closeAbandons},
	{"an empty commit changes nothing", emptyCommit},
	{"read-only transactions refuse writes", readOnly},
	{"timestamps rise", timestampsRise},
	{"Now is not before what was committed", nowIsNotBefore},
	{"log records come in commit order", logOrder},
	{"log records have timestamps of their own", logOwn},
	{"log reading resumes", logResumes},
	{"the log shows only durable records", logDurable},
	{"WaitLog wakes", waitLog},
	{"ReadLogBack goes from the end", logBackwards},
	{"TruncateLog drops and tells", truncateLog},
	{"a log tail misses nothing", logTail},
	{"Sync makes durable", syncDurable},
	{"latched writers of a key never conflict", latch},
	{"a latch ends with Close and heeds its context", latchEnds},
	{"DeleteRange removes exactly the range", deleteRange},
	{"ApproximateBytes sees small ranges", approximateBytes},
	{"a cancelled context stops reads and commits", cancelled},
	{"a closed store refuses", closedStore},
}

// env is a store under test.
type env struct {
	t   *testing.T
	s   storage.Store
	ctx context.Context
}

func (e env) check(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e env) is(err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Fatalf("got error %v, want %v", err, want)
	}
}

func (e env) begin(o storage.TxnOptions) storage.Txn {
	e.t.Helper()
	t, err := e.s.Begin(e.ctx, o)
	e.check(err)
	return t
}

func (e env) snapshot(at storage.Timestamp) storage.Reader {
	e.t.Helper()
	r, err := e.s.Snapshot(e.ctx, at)
	e.check(err)
	return r
}

// put commits one transaction that sets keys to values, given as pairs; the value "" deletes. It returns the
// timestamp of the commit.
func (e env) put(pairs ...string) storage.Timestamp {
	e.t.Helper()
	t := e.begin(storage.TxnOptions{})
	e.sets(t, pairs...)
	return e.commit(t)
}

func (e env) sets(t storage.Txn, pairs ...string) {
	e.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			e.check(t.Delete([]byte(pairs[i])))
		} else {
			e.check(t.Set([]byte(pairs[i]), []byte(pairs[i+1])))
		}
	}
}

func (e env) commit(t storage.Txn) storage.Timestamp {
	e.t.Helper()
	ts, err := t.Commit(e.ctx, storage.Synced)
	e.check(err)
	return ts
}

func (e env) conflict(t storage.Txn) {
	e.t.Helper()
	_, err := t.Commit(e.ctx, storage.Buffered)
	e.is(err, storage.ErrConflict)
}

// get returns the value of a key that the reader r finds, or "" if there is none.
func (e env) get(r storage.Reader, key string) string {
	e.t.Helper()
	v, err := r.Get(e.ctx, []byte(key), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return ""
	}
	e.check(err)
	return string(v)
}

func (e env) want(r storage.Reader, pairs ...string) {
	e.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.get(r, pairs[i]); got != pairs[i+1] {
			e.t.Fatalf("%s = %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

// scan returns a range as "k=v k=v …".
func (e env) scan(r storage.Reader, start, end string, reverse bool) string {
	e.t.Helper()
	rg := storage.Range{Start: []byte(start)}
	if end != "" {
		rg.End = []byte(end)
	}
	it, err := r.Iter(e.ctx, rg, storage.IterOptions{Reverse: reverse})
	e.check(err)
	defer it.Close()
	var out []byte
	for it.Next() {
		if out != nil {
			out = append(out, ' ')
		}
		out = fmt.Appendf(out, "%s=%s", it.Key(), it.Value())
	}
	e.check(it.Err())
	if it.Next() {
		e.t.Fatal("Next after the end")
	}
	return string(out)
}

func (e env) equal(got, want any) {
	e.t.Helper()
	if got != want {
		e.t.Fatalf("got %v, want %v", got, want)
	}
}
