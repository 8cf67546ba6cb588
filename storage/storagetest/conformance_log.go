package storagetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

func timestampsRise(e env) {
	last := e.s.Latest()
	if last == 0 {
		e.t.Fatal("Latest is 0")
	}
	for i := range 20 {
		ts := e.put("a", fmt.Sprint(i+1))
		if ts <= last {
			e.t.Fatalf("%v after %v", ts, last)
		}
		last = ts
		if e.s.Latest() < ts {
			e.t.Fatal("Latest is before a commit")
		}
		if e.s.Durable() < ts {
			e.t.Fatal("a synced commit is not durable")
		}
		r := e.snapshot(0)
		if r.ReadTimestamp() < ts {
			e.t.Fatal("a snapshot is before a commit")
		}
		r.Close()
	}
}

func nowIsNotBefore(e env) {
	for i := range 5 {
		ts := e.put("a", fmt.Sprint(i+1))
		now, err := e.s.Now(e.ctx)
		e.check(err)
		if now < ts {
			e.t.Fatalf("%v is before the commit at %v", now, ts)
		}
		r := e.snapshot(now)
		e.want(r, "a", fmt.Sprint(i+1))
		r.Close()
	}
}

// log returns the records of a change-log stream after a timestamp as a text "ts:rec ts:rec …", for comparisons.
func (e env) log(stream string, after storage.Timestamp) string {
	e.t.Helper()
	var out []byte
	_, err := e.s.ReadLog(e.ctx, []byte(stream), after, func(ts, _ storage.Timestamp, rec []byte) bool {
		if out != nil {
			out = append(out, ' ')
		}
		out = fmt.Appendf(out, "%d:%s", ts, rec)
		return true
	})
	e.check(err)
	return string(out)
}

// logged commits records of "stream record" pairs.
func (e env) logged(d storage.Durability, pairs ...string) storage.Timestamp {
	e.t.Helper()
	t := e.begin(storage.TxnOptions{})
	for i := 0; i < len(pairs); i += 2 {
		e.check(t.AppendLog([]byte(pairs[i]), []byte(pairs[i+1])))
	}
	ts, err := t.Commit(e.ctx, d)
	e.check(err)
	return ts
}

func logOrder(e env) {
	first, second := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.check(first.AppendLog([]byte("s"), []byte("f")))
	e.check(second.AppendLog([]byte("s"), []byte("z")))
	e.check(second.AppendLog([]byte("st"), []byte("other")))
	e.check(second.AppendLog([]byte("s"), []byte("a")))
	ts2 := e.commit(second)
	ts1 := e.commit(first)
	e.equal(e.log("s", 0), fmt.Sprintf("%d:z %d:a %d:f", ts2, ts2, ts1))
	e.equal(e.log("s", ts2), fmt.Sprintf("%d:f", ts1))
	e.equal(e.log("st", 0), fmt.Sprintf("%d:other", ts2))
	e.equal(e.log("", 0), "")
}

// logOwn checks that each change-log record has a timestamp of its own, greater than all earlier commits and at
// most that of its commit, in any stream.
func logOwn(e env) {
	before := e.put("a", "1")
	ts := e.logged(storage.Synced, "s", "1", "s", "2", "t", "3", "s", "4")
	e.put("a", "2")
	last := e.logged(storage.Synced, "s", "5")
	var got []storage.Timestamp
	_, err := e.s.ReadLog(e.ctx, []byte("s"), 0, func(_, own storage.Timestamp, _ []byte) bool {
		got = append(got, own)
		return true
	})
	e.check(err)
	if len(got) != 4 || got[0] <= before || got[1] != got[0]+1 || got[2] != got[1]+2 || got[2] != ts || got[3] != last {
		e.t.Errorf("commits at %v, %v and %v have records of %v", before, ts, last, got)
	}
}

func logResumes(e env) {
	e.logged(storage.Synced, "s", "1", "s", "2")
	ts := e.logged(storage.Synced, "s", "3", "s", "4")
	n := 0
	next, err := e.s.ReadLog(e.ctx, []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { n++; return n < 4 })
	e.check(err)
	e.equal(next, ts-1)
	e.equal(e.log("s", next), fmt.Sprintf("%d:3 %d:4", ts, ts)) // the commit at which yield returned false is repeated from its first record
	next, err = e.s.ReadLog(e.ctx, []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { return true })
	e.check(err)
	e.equal(next, e.s.Durable())
	e.equal(e.log("s", next), "")
	ts = e.logged(storage.Synced, "s", "5")
	e.equal(e.log("s", next), fmt.Sprintf("%d:5", ts))
}

// logBack is log, read from the end.
func (e env) logBack(stream string, upTo, after storage.Timestamp, most int) string {
	e.t.Helper()
	out := ""
	e.check(e.s.ReadLogBack(e.ctx, []byte(stream), upTo, after, func(ts storage.Timestamp, rec []byte) bool {
		out += fmt.Sprintf("%d:%s ", ts, rec)
		most--
		return most != 0
	}))
	return out
}

func logBackwards(e env) {
	ts1 := e.logged(storage.Synced, "s", "1", "other", "o")
	ts2 := e.logged(storage.Synced, "s", "2", "s", "3")
	ts3 := e.logged(storage.Synced, "s", "4")
	e.equal(e.logBack("s", ts3, 0, -1), fmt.Sprintf("%d:4 %d:3 %d:2 %d:1 ", ts3, ts2, ts2, ts1))
	e.equal(e.logBack("s", ts3+1000, ts1, -1), fmt.Sprintf("%d:4 %d:3 %d:2 ", ts3, ts2, ts2))
	e.equal(e.logBack("s", ts2, ts1, 1), fmt.Sprintf("%d:3 ", ts2))
	e.equal(e.logBack("s", ts1, ts1, -1), "")
	e.equal(e.logBack("other", ts3, 0, -1), fmt.Sprintf("%d:o ", ts1))
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), ts2))
	e.equal(e.logBack("s", ts3, ts2, -1), fmt.Sprintf("%d:4 ", ts3))
	err := e.s.ReadLogBack(e.ctx, []byte("s"), ts3, ts1, func(storage.Timestamp, []byte) bool {
		e.t.Error("a record before the refusal")
		return true
	})
	e.is(err, storage.ErrLogTruncated)
}

func logDurable(e env) {
	ts := e.logged(storage.Buffered, "s", "1")
	_, err := e.s.ReadLog(e.ctx, []byte("s"), 0, func(got, _ storage.Timestamp, _ []byte) bool {
		if e.s.Durable() < got {
			e.t.Error("a record that is not durable")
		}
		return true
	})
	e.check(err)
	e.check(e.s.WaitLog(e.ctx, ts-1)) // the background sync makes the commit durable
	e.equal(e.log("s", 0), fmt.Sprintf("%d:1", ts))
}

func waitLog(e env) {
	ts := e.put("a", "1")
	e.check(e.s.WaitLog(e.ctx, ts-1))
	ctx, cancel := context.WithTimeout(e.ctx, time.Millisecond)
	defer cancel()
	e.is(e.s.WaitLog(ctx, ts), context.DeadlineExceeded)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := e.s.WaitLog(e.ctx, ts); err != nil {
				e.t.Error(err)
			}
			if e.s.Durable() <= ts {
				e.t.Error("woken for nothing")
			}
		})
	}
	time.Sleep(time.Millisecond)
	e.put("a", "2")
	wg.Wait()
}

func truncateLog(e env) {
	ts1 := e.logged(storage.Synced, "s", "1", "other", "1")
	ts2 := e.logged(storage.Synced, "s", "2")
	ts3 := e.logged(storage.Synced, "s", "3")
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), ts2))
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), ts1))
	e.equal(e.log("s", 0), fmt.Sprintf("%d:3", ts3))
	e.equal(e.log("s", ts2), fmt.Sprintf("%d:3", ts3))
	_, err := e.s.ReadLog(e.ctx, []byte("s"), ts1, func(_, _ storage.Timestamp, _ []byte) bool { return true })
	e.is(err, storage.ErrLogTruncated)
	e.equal(e.log("other", 0), fmt.Sprintf("%d:1", ts1))
	// A reader does not get ErrLogTruncated after a truncation of no records, or of records that it has already
	// read.
	e.put("a", "1")
	last := e.logged(storage.Synced, "other", "2")
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), last))
	e.equal(e.log("s", ts3), "")
	e.check(e.s.TruncateLog(e.ctx, []byte("none"), last))
	e.equal(e.log("none", 1), "")
	e.check(e.s.TruncateLog(e.ctx, []byte("other"), ts1-1))
	e.equal(e.log("other", 1), fmt.Sprintf("%d:1 %d:2", ts1, last))
}

func logTail(e env) {
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				d := storage.Synced
				if i%3 == 0 {
					d = storage.Buffered
				}
				e.logged(d, "s", fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	var after, last storage.Timestamp
	next := [writers]int{}
	for n := 0; n < writers*each; {
		var err error
		after, err = e.s.ReadLog(e.ctx, []byte("s"), after, func(ts, _ storage.Timestamp, rec []byte) bool {
			var w, i int
			if _, err := fmt.Sscanf(string(rec), "%d-%d", &w, &i); err != nil || next[w] != i || ts <= last {
				e.t.Errorf("record %s at %v after %v, want number %d", rec, ts, last, next[w])
			}
			next[w]++
			n++
			last = ts
			return true
		})
		e.check(err)
		if n < writers*each {
			e.check(e.s.WaitLog(e.ctx, after))
		}
	}
	wg.Wait()
}

func syncDurable(e env) {
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "a", "1")
	ts, err := t.Commit(e.ctx, storage.Buffered)
	e.check(err)
	e.check(e.s.Sync(e.ctx))
	if e.s.Durable() < ts {
		e.t.Fatal("not durable")
	}
	e.check(e.s.Sync(e.ctx))
}
