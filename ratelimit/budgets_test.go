package ratelimit

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func shardIDs(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// Under a steady load of four times the provisioned rate, the admitted RU differ from the rate by at most 2 %, with
// 1, 4 and 16 partitions.
func TestOverloadAccuracy(t *testing.T) {
	for _, partitions := range []int{1, 4, 16} {
		const perSecond, seconds = 16_000, 30
		var b Budgets
		p := b.Collection(1)
		p.SetShards(t0, shardIDs(partitions))
		p.Set(t0, Throughput{Manual, perSecond}, Options{})
		price := Normative().BaseWrite(kib) + 2*Normative().Price(TermAdded, 1) // 5.80
		arrivals := int(4 * perSecond * seconds * RU / price)
		gap := seconds * time.Second / time.Duration(arrivals)
		var admitted MicroRU
		var m Meter
		for i := range arrivals {
			now := after(time.Duration(i) * gap)
			shard := i % partitions
			if b.Admit(now, Scope{1, []int{shard}}, Class{}) != nil {
				continue
			}
			m.Reset(1, nil)
			m.WriteNew(shard, kib)
			m.Terms(shard, 2, 0)
			admitted += b.Charge(now, Class{}, &m)
		}
		want := MicroRU(perSecond*seconds) * RU
		if off := admitted - want; off > want/50 || off < -want/50 {
			t.Errorf("%d partitions: admitted %s of %s", partitions, admitted, want)
		}
		if p.Normalized(after(seconds*time.Second-1)) != 100 {
			t.Error("normalised consumption under overload is not 100 %")
		}
	}
}

// Requests that are expensive, and charged only when they end, still use the provisioned rate over a longer time,
// within 2 %.
func TestOverloadAccuracyLateCharges(t *testing.T) {
	var b Budgets
	b.Collection(1).Set(t0, Throughput{Manual, 1000}, Options{})
	type job struct {
		end time.Time
		c   MicroRU
	}
	var running []job
	var admitted MicroRU
	for ms := range 300_000 {
		now := after(time.Duration(ms) * time.Millisecond)
		for len(running) > 0 && !running[0].end.After(now) {
			b.ChargeAt(now, Class{}, ShardID{1, 0}, running[0].c)
			admitted += running[0].c
			running = running[1:]
		}
		if ms%10 == 0 && b.Admit(now, Scope{Collection: 1}, Class{}) == nil {
			running = append(running, job{now.Add(80 * time.Millisecond), 50 * RU})
		}
	}
	if want := 300_000 * RU; admitted > want*102/100 || admitted < want*98/100 {
		t.Errorf("admitted %s of %s", admitted, want)
	}
}

func TestUnlimited(t *testing.T) {
	var b Budgets
	b.ChargeAt(t0, Class{}, ShardID{9, 0}, 1e9*RU)
	if b.Admit(t0, Scope{9, []int{0, 5}}, Class{}) != nil {
		t.Error("refused without a limit")
	}
	if s := b.Collection(9).Stats(t0); len(s) != 1 || s[0].LastMinute != 1e9*RU || s[0].Normalized != 0 {
		t.Errorf("%+v", s)
	}
}

func TestDivision(t *testing.T) {
	var b Budgets
	p := b.Collection(1)
	p.SetShards(t0, []int{7, 3, 5})
	p.Set(t0, Throughput{Manual, 1000}, Options{})
	var sum MicroRU
	for _, s := range p.Stats(t0) {
		sum += s.Limit
		if s.Limit < 333*RU || s.Limit > 334*RU {
			t.Errorf("%+v", s)
		}
	}
	if sum != 1000*RU {
		t.Errorf("shares add up to %s", sum)
	}
	// A split keeps the balances of the shards that stay.
	b.ChargeAt(t0, Class{}, ShardID{1, 3}, 900*RU)
	p.SetShards(t0, []int{3, 5, 8, 9})
	if tr := b.Admit(t0, Scope{1, []int{3}}, Class{}); tr == nil || tr.Shard != 3 {
		t.Errorf("the debt of shard 3 is gone: %+v", tr)
	}
	if b.Admit(t0, Scope{1, []int{8}}, Class{}) != nil {
		t.Error("a new shard starts in debt")
	}
	if spent, _ := p.Totals(); spent != 900*RU {
		t.Errorf("totals %s", spent)
	}
	b.ChargeAt(t0, Class{}, ShardID{1, 9}, RU)
	p.SetShards(t0, []int{3, 5, 8})
	if spent, throttled := p.Totals(); spent != 901*RU || throttled != 1 {
		t.Errorf("totals %s, %d after a shard is gone", spent, throttled)
	}
	// A fan-out needs every shard, an unrouted request only one.
	if b.Admit(t0, Scope{1, []int{3, 8}}, Class{}) == nil {
		t.Error("a fan-out ignores the debt of one shard")
	}
	if b.Admit(t0, Scope{Collection: 1}, Class{}) != nil {
		t.Error("an unrouted request is refused though shards can pay")
	}
	// A shard of an older shard map still finds a bucket.
	b.ChargeAt(t0, Class{}, ShardID{1, 7}, RU)
	// A higher throughput is usable at once; a lower one does not erase a debt.
	p.Set(t0, Throughput{Manual, 100_000}, Options{})
	if b.Admit(t0, Scope{1, []int{3}}, Class{}) != nil {
		t.Error("a higher throughput is not usable at once")
	}
	p.Set(t0, Throughput{}, Options{})
	if p.Limited() || b.Admit(t0, Scope{1, []int{3}}, Class{}) != nil {
		t.Error("limit not lifted")
	}
}

func TestSharedDatabase(t *testing.T) {
	var b Budgets
	b.Database("app").Set(t0, Throughput{Manual, 400}, Options{})
	b.SetDatabase(1, "app", nil)
	b.SetDatabase(2, "app", nil)
	b.ChargeAt(t0, Class{}, ShardID{1, 0}, 500*RU)
	if b.Admit(t0, Scope{Collection: 2}, Class{}) == nil {
		t.Error("the sibling does not feel the debt")
	}
	if b.Collection(2).Stats(t0)[0].LastMinute != 0 {
		t.Error("the sibling is billed")
	}
	b.SetDatabase(2, "", nil)
	if b.Admit(t0, Scope{Collection: 2}, Class{}) != nil {
		t.Error("still shared")
	}
}

// The throughput of a database is divided over its partitions, and each shard of its collections pays at the
// partition on which it lies.
func TestSharedDatabasePartitions(t *testing.T) {
	var b Budgets
	db := b.Database("app")
	db.Set(t0, Throughput{Manual, 20_000}, Options{})
	db.SetShards(t0, []int{0, 1})
	b.Collection(1).SetShards(t0, []int{0, 1})
	b.SetDatabase(1, "app", map[int]int{0: 0, 1: 1})
	b.Collection(2).SetShards(t0, []int{4, 5, 6}) // 4 was split in two
	b.SetDatabase(2, "app", map[int]int{4: 1, 5: 0, 6: 0})
	b.ChargeAt(t0, Class{}, ShardID{1, 0}, 10_000*RU)
	for _, c := range []struct {
		scope   Scope
		refused bool
		shard   int
	}{
		{Scope{1, []int{0}}, true, 0}, {Scope{1, []int{1}}, false, 0}, {Scope{1, []int{0, 1}}, true, 0}, {Scope{1, nil}, false, 0},
		{Scope{2, []int{5}}, true, 5}, {Scope{2, []int{4}}, false, 0}, {Scope{2, []int{4, 5, 6}}, true, 5}, {Scope{2, nil}, false, 0},
	} {
		got := b.Admit(t0, c.scope, Class{})
		if (got != nil) != c.refused || got != nil && (got.Shard != c.shard || got.Collection != c.scope.Collection) {
			t.Errorf("%+v: %+v", c.scope, got)
		}
	}
	b.ChargeAt(t0, Class{}, ShardID{2, 4}, 10_000*RU)
	if got := b.Admit(t0, Scope{2, nil}, Class{}); got == nil || got.Shard != 4 {
		t.Errorf("both partitions are spent: %+v", got)
	}
	b.Clock = NewVirtualClock(t0)
	if waited, err := b.Wait(t.Context(), t0, Scope{2, []int{6, 5, 4}}, Class{}, time.Minute); err != nil || waited != time.Second {
		t.Errorf("waited %v, %v", waited, err)
	}
	db.SetShards(t0, []int{0, 1, 2})
	if shares := db.Shares(); len(shares) != 3 || shares[2].RUs != 6666 {
		t.Errorf("%v", shares)
	}
}

func TestRedistribute(t *testing.T) {
	var b Budgets
	p := b.Collection(1)
	p.SetShards(t0, shardIDs(3))
	if p.Redistribute(t0, []Share{{0, 200}}, []int{1}) == nil {
		t.Error("redistribution of nothing")
	}
	p.Set(t0, Throughput{Manual, 6000}, Options{})
	if err := p.Redistribute(t0, []Share{{0, 4500}}, []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if got := p.Shares(); got[0].RUs != 4500 || got[1].RUs != 750 || got[2].RUs != 750 {
		t.Errorf("%v", got)
	}
	for _, bad := range []error{
		p.Redistribute(t0, []Share{{0, 5900}}, []int{1, 2}),        // leaves 50 each
		p.Redistribute(t0, []Share{{0, 10_001}}, []int{1, 2}),      // above a shard's maximum
		p.Redistribute(t0, []Share{{0, 99}}, []int{1}),             // below a shard's minimum
		p.Redistribute(t0, []Share{{0, 4000}}, nil),                // changes the sum
		p.Redistribute(t0, []Share{{9, 4000}}, []int{1}),           // unknown
		p.Redistribute(t0, []Share{{0, 4000}, {0, 500}}, []int{1}), // twice
		p.Redistribute(t0, []Share{{0, 4000}}, []int{0}),           // source is target
	} {
		if e := (*InvalidThroughput)(nil); !errors.As(bad, &e) || e.Rule != RuleShares {
			t.Errorf("%v", bad)
		}
	}
	p.Equalize(t0)
	if got := p.Shares(); got[0].RUs != 2000 || got[2].RUs != 2000 {
		t.Errorf("%v", got)
	}
}

func TestAutoscaled(t *testing.T) {
	var b Budgets
	p := b.Collection(1)
	p.SetShards(t0, shardIDs(2))
	p.Set(t0, Throughput{Autoscale, 4000}, Options{})
	if this, last := p.Autoscaled(t0); this != 400 || last != 400 {
		t.Errorf("idle: %d %d", this, last)
	}
	b.ChargeAt(t0, Class{}, ShardID{1, 0}, 1500*RU)
	b.ChargeAt(t0, Class{Priority: Background}, ShardID{1, 1}, 2000*RU)
	if this, _ := p.Autoscaled(t0); this != 1700 {
		t.Errorf("one shard at 1500, the other at its minimum: %d", this)
	}
	if this, last := p.Autoscaled(after(time.Hour)); this != 400 || last != 1700 {
		t.Errorf("an hour later: %d %d", this, last)
	}
}

func TestThroughputRules(t *testing.T) {
	manual := func(n int64) Throughput { return Throughput{Manual, n} }
	auto := func(n int64) Throughput { return Throughput{Autoscale, n} }
	for _, c := range []struct {
		name string
		err  error
		want Rule
	}{
		{"400", CheckCollection(manual(400), false, Load{}), 0},
		{"300", CheckCollection(manual(300), true, Load{}), RuleMinimum},
		{"0", CheckCollection(manual(0), true, Load{}), RuleMinimum},
		{"-100", CheckCollection(manual(-100), true, Load{}), RuleMinimum},
		{"450", CheckCollection(manual(450), true, Load{}), RuleStep},
		{"10000 unsharded", CheckCollection(manual(10_000), false, Load{}), 0},
		{"10100 unsharded", CheckCollection(manual(10_100), false, Load{}), RuleNeedsShardKey},
		{"10100 sharded", CheckCollection(manual(10_100), true, Load{}), 0},
		{"1 TB at 400", CheckCollection(manual(400), true, Load{StoredGB: 1000}), RuleMinimum},
		{"had 100000", CheckCollection(manual(900), true, Load{HighestRUs: 100_000}), RuleMinimum},
		{"too high", CheckCollection(manual(2e9), true, Load{}), RuleMaximum},
		{"auto 1000", CheckCollection(auto(1000), false, Load{}), 0},
		{"auto 900", CheckCollection(auto(900), false, Load{}), RuleMinimum},
		{"auto 1500", CheckCollection(auto(1500), false, Load{}), RuleStep},
		{"auto 11000 unsharded", CheckCollection(auto(11_000), false, Load{}), RuleNeedsShardKey},
		{"auto 500 GB", CheckCollection(auto(4000), true, Load{StoredGB: 500}), RuleMinimum},
		{"none", CheckCollection(Throughput{}, false, Load{}), 0},
		{"db 30 collections", CheckDatabase(manual(800), Load{Collections: 30}), RuleMinimum},
		{"db 30 collections, enough", CheckDatabase(manual(900), Load{Collections: 30}), 0},
		{"db auto 30 collections", CheckDatabase(auto(5000), Load{Collections: 30}), RuleMinimum},
		{"db auto 30 collections, enough", CheckDatabase(auto(6000), Load{Collections: 30}), 0},
		{"switch", CheckSwitch(manual(400), auto(1000)), RuleModeSwitch},
		{"same mode", CheckSwitch(manual(400), manual(500)), 0},
		{"first setting", CheckSwitch(Throughput{}, auto(1000)), 0},
		{"26th shared", CheckShared(25), RuleTooManyCollections},
		{"25th shared", CheckShared(24), 0},
	} {
		e := (*InvalidThroughput)(nil)
		switch {
		case c.want == 0 && c.err != nil:
			t.Errorf("%s: %v", c.name, c.err)
		case c.want != 0 && (!errors.As(c.err, &e) || e.Rule != c.want || e.Error() == ""):
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	if ToAutoscale(4300, Load{}) != 5000 || ToAutoscale(400, Load{HighestRUs: 90_000}) != 9000 || AutoscaleForStorage(4000, 450) != 5000 {
		t.Error("switch to autoscale")
	}
	if ServerlessRate(5) != 5000 || ServerlessRate(7) != 7000 || auto(4000).Minimum() != 400 {
		t.Error("serverless")
	}
}

// The number of shards of a new collection is computed by 6,000 RU/s for a shard with manual throughput, by 10,000
// with autoscale, and by the configured maximum of a shard if there is one.
func TestFirstShardRate(t *testing.T) {
	for _, c := range []struct {
		mode       Mode
		most, want int64
	}{{Manual, 0, 6000}, {Autoscale, 0, 10_000}, {Manual, 10_000, 10_000}, {Manual, 500, 500}, {Autoscale, 500, 500}} {
		if got := FirstShardRate(c.mode, c.most); got != c.want {
			t.Errorf("%v, at most %d: %d, want %d", c.mode, c.most, got, c.want)
		}
	}
}

// A serverless collection gets neither burst credit nor the RU-per-minute add-on, even if its options have both and the
// parts of its shards are below the burst rate.
func TestServerlessDoesNotBurst(t *testing.T) {
	var b Budgets
	p := b.Collection(1)
	p.SetShards(t0, []int{0, 1, 2, 3})
	p.Set(t0, Throughput{Mode: Serverless}, Options{Burst: true, RUPerMinute: true})
	b.ChargeAt(t0, Class{}, ShardID{1, 0}, 1*RU)
	b.ChargeAt(after(300*time.Second), Class{}, ShardID{1, 0}, 1300*RU)
	if got := p.Stats(after(300 * time.Second))[0]; got.BurstCredit != 0 || got.Balance > 0 {
		t.Errorf("%+v", got)
	}
}

func TestNoteChange(t *testing.T) {
	var b Budgets
	for i := range ChangesMax {
		if err := b.NoteChange(after(time.Duration(i) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if b.NoteChange(after(299*time.Second)) == nil {
		t.Error("26 changes in five minutes")
	}
	if err := b.NoteChange(after(300 * time.Second)); err != nil {
		t.Error(err)
	}
}

func TestThrottledText(t *testing.T) {
	e := &Throttled{RetryAfter: 7_000_001}
	const sentence = "Request rate is large. More Request Units may be needed, so no changes were made. " +
		"Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429"
	const head = "Error=16500, RetryAfterMs=8, Details='Response status code does not indicate success: " +
		"TooManyRequests (429); Substatus: 3200; Reason: ("
	if got := e.WriteMessage(); got != head+`{ "Errors": [ "`+sentence+`" ] });` {
		t.Error(got)
	}
	if got := e.Message(); got != head+sentence+")'" || !strings.HasPrefix(e.Error(), head) {
		t.Error(got)
	}
	if (&Throttled{}).RetryAfterMs() != 1 {
		t.Error("a wait below a millisecond")
	}
}

func TestInjected(t *testing.T) {
	var b Budgets
	at := ShardID{1, 0}
	pattern := func(n int, k Kind) string {
		s := ""
		for range n {
			if b.Injected(at, k) == nil {
				s += "."
			} else {
				s += "x"
			}
		}
		return s
	}
	if got := pattern(3, WriteKind); got != "..." {
		t.Error(got)
	}
	b.Inject(RefuseRule{Kind: WriteKind, Nth: 5, RetryAfter: 10 * time.Millisecond})
	if got := pattern(4, WriteKind) + pattern(9, ReadKind) + pattern(3, WriteKind); got != "............."+"x.." {
		t.Error(got)
	}
	b.Inject(RefuseRule{Nth: 2, Count: 2, Every: 5})
	if got := pattern(12, ReadKind); got != ".xx...xx...x" {
		t.Error(got)
	}
	b.Inject(RefuseRule{Nth: 3, Count: -1, Collection: 1})
	if got := pattern(6, ReadKind); got != "..xxxx" {
		t.Error(got)
	}
	b.Inject(RefuseRule{Collection: 2})
	if got := pattern(2, ReadKind); got != ".." {
		t.Error(got)
	}
	b.Inject()
	if got := pattern(2, ReadKind); got != ".." {
		t.Error(got)
	}
}

// Eight goroutines charge three pools, while three of them also change the shards and the settings or read the
// statistics. The total of the pools is above 0 and at most the sum of the charges. Data races are found only with the
// race detector.
func TestConcurrentUse(t *testing.T) {
	var b Budgets
	var wg sync.WaitGroup
	const workers, each = 8, 300
	for w := range workers {
		wg.Go(func() {
			var m Meter
			for i := range each {
				id := uint64(i % 3)
				now := after(time.Duration(i) * 10 * time.Millisecond)
				b.Admit(now, Scope{id, []int{0, 1}}, Class{})
				m.Reset(id, nil)
				m.PointRead(i%4, 0)
				b.Charge(now, Class{}, &m)
				b.Collection(id).CountKey(0, []byte{byte(i)}, RU, 10, nil)
				switch {
				case w == 0 && i%50 == 0:
					b.Collection(id).SetShards(now, shardIDs(4+i/50%2))
				case w == 1 && i%70 == 0:
					b.Collection(id).Set(now, Throughput{Manual, 1000}, Options{Burst: true})
				case w == 2 && i%30 == 0:
					b.Collection(id).Stats(now)
				}
			}
		})
	}
	wg.Wait()
	var total MicroRU
	for id := range uint64(3) {
		for _, s := range b.Collection(id).Stats(t0) {
			total += s.Total
		}
	}
	if total == 0 || total > workers*each*RU {
		t.Errorf("%s", total)
	}
}
