package demo

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// Load is a load with a fixed rate. All tenants send the same requests, until HotTenant becomes hot: it then also sends
// HotRate expensive queries per second. The exported fields are set before Prepare.
type Load struct {
	Run        remote.Run
	Now        func() time.Time // the time of new orders
	Documents  int              // orders in the collection; for each new one the oldest is deleted
	Throughput int              // RU/s of the collection
	Rate       int              // requests per second of all tenants
	HotRate    int              // further queries per second of HotTenant

	mu     sync.Mutex
	random *rand.Rand // as for each Load, so that two runs send the same
	next   int64      // number of the next order
	counts Counts
}

// Counts are the requests of a load.
type Counts struct {
	Requests, Refused, Failed int64
	LastError                 error // of the failed ones
}

// Counts returns the requests up to now.
func (l *Load) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// count counts a request with its error.
func (l *Load) count(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Requests++
	switch {
	case err == nil:
	case remote.Throttled(err):
		l.counts.Refused++
	default:
		l.counts.Failed++
		l.counts.LastError = err
	}
}

// normal returns the next requests of an ordinary tenant: six of ten are reads, two updates, and two an insert with the
// delete of the oldest order.
func (l *Load) normal() []bson.Raw {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.random == nil {
		l.random = rand.New(rand.NewPCG(1, 2))
	}
	n := l.next - 1 - l.random.Int64N(int64(l.Documents))
	n = max(n, 0)
	tenant := tenantOf(n)
	switch l.random.IntN(10) {
	case 0, 1, 2:
		return []bson.Raw{bson.D{{"find", Collection}, {"filter", bson.D{{"_id", n}, {"tenant", tenant}}}}.Doc()}
	case 3, 4, 5:
		return []bson.Raw{bson.D{{"find", Collection}, {"filter", bson.D{{"tenant", tenant}}}, {"sort", bson.D{{"at", -1}}}, {"limit", 5}}.Doc()}
	case 6, 7:
		set := bson.D{{"$set", bson.D{{"status", states[l.random.IntN(len(states))]}}}}
		return []bson.Raw{bson.D{{"update", Collection}, {"updates", bson.A{bson.D{{"q", bson.D{{"_id", n}, {"tenant", tenant}}}, {"u", set}}}}}.Doc()}
	}
	n, l.next = l.next, l.next+1
	old := n - int64(l.Documents)
	return []bson.Raw{
		bson.D{{"insert", Collection}, {"documents", bson.A{l.order(n)}}}.Doc(),
		bson.D{{"delete", Collection}, {"deletes", bson.A{bson.D{{"q", bson.D{{"_id", old}, {"tenant", tenantOf(max(old, 0))}}}, {"limit", 1}}}}}.Doc(),
	}
}

// expensive returns the query of the hot tenant: its orders of some value, which no index answers alone.
func expensive() bson.Raw {
	return bson.D{{"find", Collection}, {"filter", bson.D{{"tenant", HotTenant}, {"total", bson.D{{"$gte", 5}}}}}, {"limit", 50}, {"singleBatch", true}}.Doc()
}

// send runs one request and counts it.
func (l *Load) send(ctx context.Context, command bson.Raw) {
	_, err := l.Run(ctx, DB, command)
	if ctx.Err() == nil {
		l.count(err)
	}
}

// Second sends the requests of one second, one after another and without pauses.
func (l *Load) Second(ctx context.Context, hot bool) {
	for range l.Rate {
		for _, c := range l.normal() {
			l.send(ctx, c)
		}
	}
	if hot {
		for range l.HotRate {
			l.send(ctx, expensive())
		}
	}
}

// senders is the number of requests that run at once, for all tenants and for the hot one each.
const senders = 4

// Send sends requests at their rates until ctx ends. HotTenant is hot from hotAfter on. If the server is slower than the
// rate, requests that are late by more than a second are left out.
func (l *Load) Send(ctx context.Context, hotAfter time.Duration) {
	var all sync.WaitGroup
	begin := time.Now()
	for i := range senders {
		all.Go(func() {
			paced(ctx, begin.Add(offset(i, l.Rate)), interval(l.Rate), func() {
				for _, c := range l.normal() {
					l.send(ctx, c)
				}
			})
		})
		all.Go(func() {
			paced(ctx, begin.Add(hotAfter+offset(i, l.HotRate)), interval(l.HotRate), func() { l.send(ctx, expensive()) })
		})
	}
	all.Wait()
}

// interval returns the time between two requests of one sender, offset the start of the sender with a number: senders
// take turns.
func interval(rate int) time.Duration { return time.Second * senders / time.Duration(rate) }
func offset(sender, rate int) time.Duration {
	return time.Second * time.Duration(sender) / time.Duration(rate)
}

// paced calls f at a time and then after every interval, until ctx ends.
func paced(ctx context.Context, at time.Time, every time.Duration, f func()) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		f()
		at = at.Add(every)
		if late := time.Since(at); late > time.Second {
			at = at.Add(late)
		}
		timer.Reset(time.Until(at))
	}
}
