package tikvfake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/util/codec"
	pd "github.com/tikv/pd/client"
)

// FaultCounts counts the injected faults of a cluster.
type FaultCounts struct {
	mu sync.Mutex
	n  map[string]int
}

// ByName returns the counts by name.
func (t *FaultCounts) ByName() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]int, len(t.n))
	for what, n := range t.n {
		out[what] = n
	}
	return out
}

// String returns the counts in one line.
func (t *FaultCounts) String() string {
	var out []string
	for what, n := range t.ByName() {
		out = append(out, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Names of faults.
const (
	Stalls          = "stalls"
	LongStalls      = "stalls of half a second"
	HeldPrewrites   = "prewrites held for longer than the log's window"
	StaleCommands   = "stale commands"
	RegionsNotFound = "regions not found"
	BusyStores      = "busy stores"
	CutBefore       = "connections cut before a request was done"
	CutAfter        = "connections cut before a request was answered"
	Unanswered      = "commits done and never answered"
	DroppedCommits  = "commits neither done nor answered"
	LeaderMoves     = "moves of leaders"
	Splits          = "splits of regions"
	Merges          = "merges of regions"
	StoresDown      = "stores down for a while"
	PDUnavailable   = "times without PD"
)

// requestFaults lists the faults of requests. A fault is injected into one in oneIn of the requests of its
// kinds, at random.
var requestFaults = []struct {
	what  string
	oneIn int
	of    []tikvrpc.CmdType // nil = all
	do    func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error)
}{
	{Stalls, 60, nil, stall(0, 15*time.Millisecond)},
	{LongStalls, 2500, nil, stall(300*time.Millisecond, 700*time.Millisecond)},
	{HeldPrewrites, 6000, []tikvrpc.CmdType{tikvrpc.CmdPrewrite}, stall(5200*time.Millisecond, 5800*time.Millisecond)},
	{StaleCommands, 400, nil, regionError(&errorpb.Error{Message: "stale", StaleCommand: &errorpb.StaleCommand{}})},
	{RegionsNotFound, 400, nil, regionError(&errorpb.Error{Message: "gone", RegionNotFound: &errorpb.RegionNotFound{}})},
	{BusyStores, 6000, nil, regionError(&errorpb.Error{Message: "busy", ServerIsBusy: &errorpb.ServerIsBusy{Reason: "too much to do"}})},
	{CutBefore, 2000, nil, func(context.Context, *tikvrpc.Request, func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		return nil, errCut
	}},
	{CutAfter, 400, []tikvrpc.CmdType{tikvrpc.CmdCommit}, func(_ context.Context, _ *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		_, err := next()
		return nil, errors.Join(errCut, err)
	}},
}

// errNoAnswer is the error that a Hook returns to drop the answer to a request, while the connection stays open.
var errNoAnswer = errors.New("the answer is lost")

// Delay returns a Hook that delays every request by d, like the network path to another machine.
func Delay(d time.Duration) Hook {
	return func(ctx context.Context, _ *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if !pause(ctx, d) {
			return nil, ctx.Err()
		}
		return next()
	}
}

// stall returns a Hook that delays a request by a random time from least to most.
func stall(least, most time.Duration) Hook {
	return func(ctx context.Context, _ *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if !pause(ctx, least+rand.N(most-least)) {
			return nil, ctx.Err()
		}
		return next()
	}
}

// pause waits, and reports whether ctx did not end before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// regionError returns a Hook that answers with a region error.
func regionError(e *errorpb.Error) Hook {
	return func(_ context.Context, req *tikvrpc.Request, _ func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		return tikvrpc.GenRegionErrorResp(req, e)
	}
}

// InjectFaults injects the faults of a real cluster, now and then, all of which a server has to hide: requests stall,
// are answered with region errors, or are not answered; commits are delayed until they are too late; connections are
// cut; leaders move; regions split and merge; stores go down one at a time; and PD fails for up to two seconds. The
// cluster must have several stores and be served. end stops the faults.
func (c *Cluster) InjectFaults(seed uint64) (counts *FaultCounts, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &faultInjector{FaultCounts: FaultCounts{n: map[string]int{}}, c: c, random: rand.New(rand.NewPCG(seed, 0)), unanswered: map[uint64]unansweredTxn{}}
	c.SetHook(t.hook)
	var group sync.WaitGroup
	for _, often := range []struct {
		least, most time.Duration
		do          func(ctx context.Context)
	}{
		{50 * time.Millisecond, 300 * time.Millisecond, t.moveLeader},
		{200 * time.Millisecond, 800 * time.Millisecond, t.splitOrMerge},
		{3 * time.Second, 8 * time.Second, t.downStore},
		{6 * time.Second, 14 * time.Second, t.interruptPD},
	} {
		group.Go(func() {
			for pause(ctx, often.least+t.upTo(often.most-often.least)) {
				often.do(ctx)
			}
		})
	}
	return &t.FaultCounts, func() {
		c.SetHook(nil)
		cancel()
		group.Wait()
	}
}

// faultInjector injects faults into a cluster.
type faultInjector struct {
	FaultCounts
	c          *Cluster
	random     *rand.Rand               // guarded by mu
	seen       []byte                   // guarded by mu; a key that was written lately
	unanswered map[uint64]unansweredTxn // guarded by mu; by start timestamp, transactions whose commits get no answer
}

// unansweredTxn is a transaction whose commit requests for the primary key get no answer, however often they are sent.
type unansweredTxn struct {
	primary []byte
	done    bool // the requests are executed nevertheless
}

// unansweredOneIn: for one in this many prewrites, at random, the commit of the transaction gets no answer.
const unansweredOneIn = 2500

// note counts a fault.
func (t *faultInjector) note(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what]++
}

// upTo returns a random duration up to d.
func (t *faultInjector) upTo(d time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(t.random.Int64N(int64(d) + 1))
}

// number returns a random number below n.
func (t *faultInjector) number(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.random.IntN(n)
}

// hook is the Hook that injects the faults.
func (t *faultInjector) hook(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
	if req.Type == tikvrpc.CmdSplitRegion {
		return next()
	}
	t.mu.Lock()
	if req.Type == tikvrpc.CmdPrewrite {
		r := req.Prewrite()
		if len(r.Mutations) > 0 {
			t.seen = r.Mutations[t.random.IntN(len(r.Mutations))].Key
		}
		if t.random.IntN(unansweredOneIn) == 0 {
			t.unanswered[r.StartVersion] = unansweredTxn{r.PrimaryLock, t.random.IntN(2) == 0}
		}
	}
	if m, ok := t.isUnanswered(req); ok {
		t.mu.Unlock()
		if !m.done {
			return nil, errNoAnswer
		}
		_, err := next()
		return nil, errors.Join(errNoAnswer, err)
	}
	for _, m := range requestFaults {
		if (m.of == nil || slices.Contains(m.of, req.Type)) && t.random.IntN(m.oneIn) == 0 {
			t.n[m.what]++
			t.mu.Unlock()
			return m.do(ctx, req, next)
		}
	}
	t.mu.Unlock()
	return next()
}

// isUnanswered reports whether a request commits the primary key of a transaction in unanswered, so that it gets no
// answer, and counts such requests; mu is held.
func (t *faultInjector) isUnanswered(req *tikvrpc.Request) (m unansweredTxn, ok bool) {
	if req.Type != tikvrpc.CmdCommit {
		return m, false
	}
	m, ok = t.unanswered[req.Commit().StartVersion]
	if !ok || !slices.ContainsFunc(req.Commit().Keys, func(key []byte) bool { return bytes.Equal(key, m.primary) }) {
		return m, false
	}
	if m.done {
		t.n[Unanswered]++
	} else {
		t.n[DroppedCommits]++
	}
	return m, true
}

// regions returns the regions of the cluster.
func (t *faultInjector) regions() []*pd.Region { return t.c.Layout.ScanRegions(nil, nil, 0) }

// moveLeader makes another replica the leader of a region.
func (t *faultInjector) moveLeader(context.Context) {
	t.c.regionMu.Lock()
	defer t.c.regionMu.Unlock()
	list := t.regions()
	r := list[t.number(len(list))]
	peer := r.Meta.Peers[t.number(len(r.Meta.Peers))]
	if d := t.c.listener(peer.StoreId); peer.Id == r.Leader.GetId() || d == nil || d.isPaused() {
		return
	}
	t.c.Layout.ChangeLeader(r.Meta.Id, peer.Id)
	t.note(LeaderMoves)
}

// regionsMost is the number of regions above which regions are merged.
const regionsMost = 24

// splitOrMerge splits a region at a key that was written, or merges two regions.
func (t *faultInjector) splitOrMerge(context.Context) {
	t.mu.Lock()
	key := t.seen
	t.mu.Unlock()
	t.c.regionMu.Lock()
	defer t.c.regionMu.Unlock()
	if list := t.regions(); len(list) > regionsMost {
		i := t.number(len(list) - 1)
		t.c.Layout.Merge(list[i].Meta.Id, list[i+1].Meta.Id)
		t.c.renew(list[i].Meta.Id)
		t.note(Merges)
		return
	}
	coded := codec.EncodeBytes(nil, key)
	r, _, _, _ := t.c.Layout.GetRegionByKey(coded)
	if key == nil || bytes.Equal(r.StartKey, coded) {
		return
	}
	ids := t.c.Layout.AllocIDs(1 + len(r.Peers))
	t.c.Layout.Split(r.Id, ids[0], key, ids[1:], ids[1+t.number(len(r.Peers))])
	t.c.renew(r.Id, ids[0])
	t.note(Splits)
}

// downStore makes a store unreachable for 1.2 to 2.5 seconds; meanwhile the leaders of its regions move to other
// stores.
func (t *faultInjector) downStore(ctx context.Context) {
	stores := t.c.Layout.GetAllStores()
	victim := stores[t.number(len(stores))].Id
	d := t.c.listener(victim)
	if d == nil {
		return
	}
	d.pause()
	defer d.resume()
	t.note(StoresDown)
	if !pause(ctx, 200*time.Millisecond+t.upTo(300*time.Millisecond)) {
		return
	}
	t.moveLeadersFrom(victim)
	pause(ctx, time.Second+t.upTo(time.Second))
}

// moveLeadersFrom moves the leaders of a store to other stores.
func (t *faultInjector) moveLeadersFrom(victim uint64) {
	t.c.regionMu.Lock()
	defer t.c.regionMu.Unlock()
	for _, r := range t.regions() {
		i := slices.IndexFunc(r.Meta.Peers, func(p *metapb.Peer) bool { return p.StoreId != victim })
		if r.Leader.GetStoreId() == victim && i >= 0 {
			t.c.Layout.ChangeLeader(r.Meta.Id, r.Meta.Peers[i].Id)
		}
	}
}

// interruptPD makes PD fail for half a second to two seconds: PD answers with errors, or cannot be reached.
func (t *faultInjector) interruptPD(ctx context.Context) {
	t.note(PDUnavailable)
	if t.number(2) == 0 {
		d := t.c.listener(ofPD)
		d.pause()
		defer d.resume()
	} else {
		t.c.StopPD(errors.New("PD is away"))
		defer t.c.StopPD(nil)
	}
	pause(ctx, 500*time.Millisecond+t.upTo(1500*time.Millisecond))
}
