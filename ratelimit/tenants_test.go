package ratelimit

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const (
	simPrice   = 5 * RU               // of each request
	simService = 2 * time.Millisecond // from its admission to its charge
	simWarm    = 10                   // seconds before the measurement
	simSeconds = 40
	simWindow  = 10                     // seconds in which a tenant gets its guarantee
	simTries   = 3                      // of a request of an impatient tenant
	simJitter  = 100 * time.Millisecond // at most, in addition to the time that a refusal names
)

// simulation sends requests of tenants to a collection in virtual time. Requests of a tenant come at random times;
// a refused one is sent again after the time that the refusal names.
type simulation struct {
	budgets    []Budgets  // of each server
	demands    [][]Demand // of each server, in the last second
	second     int64
	partitions int
	impatient  int // number of the first tenants whose requests end after simTries; the others try on
	rng        *rand.Rand
	events     simEvents
	demanded   map[[2]int]MicroRU // by tenant and window
	admitted   map[[2]int]MicroRU
	charged    []MicroRU       // by partition, in the measured time
	waits      []time.Duration // from the arrival to the end, of all tenants but the first
}

type simEvent struct {
	at, arrived time.Duration
	tenant      int
	server      int
	tries       int
	done        bool // the request has been admitted, and is charged now
}

type simEvents []simEvent

func (e simEvents) Len() int           { return len(e) }
func (e simEvents) Less(i, j int) bool { return e[i].at < e[j].at }
func (e simEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *simEvents) Push(x any)        { *e = append(*e, x.(simEvent)) }
func (e *simEvents) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

// simulate runs tenants with demands of so many RU/s, at servers, on partitions with rus RU/s together.
func simulate(servers, partitions, impatient int, rus int64, limits *Tenants, demands []float64) *simulation {
	s := &simulation{budgets: make([]Budgets, servers), demands: make([][]Demand, servers), partitions: partitions, impatient: impatient, rng: rand.New(rand.NewPCG(45, 3)), demanded: map[[2]int]MicroRU{}, admitted: map[[2]int]MicroRU{}, charged: make([]MicroRU, partitions)}
	var shards []int
	for i := range partitions {
		shards = append(shards, i)
	}
	for i := range s.budgets {
		pool := s.budgets[i].Collection(1)
		pool.Set(t0, Throughput{Mode: Manual, RUs: rus}, Options{})
		pool.SetTenants(limits)
		pool.SetShards(t0, shards)
		if servers > 1 {
			s.budgets[i].SetServers(t0, servers, false)
		}
	}
	for i, demand := range demands {
		s.arrive(i, 0, demand)
	}
	const end = (simWarm + simSeconds) * time.Second
	for {
		e := heap.Pop(&s.events).(simEvent)
		if e.at >= end {
			return s
		}
		if second := int64(e.at / time.Second); servers > 1 && second != s.second {
			s.second = second
			s.grant(t0.Add(e.at))
		}
		s.step(e, demands[e.tenant], limits)
	}
}

// arrive schedules the next request of a tenant after a time.
func (s *simulation) arrive(tenant int, at time.Duration, demand float64) {
	if demand > 0 {
		at += time.Duration(s.rng.ExpFloat64() * simPrice.Exact() / demand * float64(time.Second))
		e := simEvent{at: at, arrived: at, tenant: tenant}
		if tenant != 0 { // the first is at one server
			e.server = s.rng.IntN(len(s.budgets))
		}
		heap.Push(&s.events, e)
	}
}

func (s *simulation) step(e simEvent, demand float64, limits *Tenants) {
	now, shard := t0.Add(e.at), e.tenant%s.partitions
	key := [2]int{e.tenant, int(e.at / (simWindow * time.Second))}
	measured := e.at >= simWarm*time.Second
	var c Class
	if limits != nil {
		c.Tenant = limits.Of([]byte{byte(e.tenant)})
	}
	if e.done {
		s.budgets[e.server].ChargeAt(now, c, ShardID{1, shard}, simPrice)
		s.admitted[key] += simPrice
		if measured {
			s.charged[shard] += simPrice
			if e.tenant != 0 {
				s.waits = append(s.waits, e.at-e.arrived)
			}
		}
		return
	}
	if e.tries == 0 {
		s.demanded[key] += simPrice
		s.arrive(e.tenant, e.at, demand)
	}
	e.tries++
	if t := s.budgets[e.server].Admit(now, Scope{Collection: 1, Shards: []int{shard}}, c); t == nil {
		e.at, e.done = e.at+simService, true
	} else if e.at += t.RetryAfter + time.Duration(s.rng.Int64N(int64(simJitter))); e.tenant < s.impatient && e.tries == simTries {
		return
	}
	heap.Push(&s.events, e)
}

// grant gives each server its shares of a second, by the demands of the second before the last, as peers do.
func (s *simulation) grant(now time.Time) {
	last := slices.Clone(s.demands)
	for i := range s.budgets {
		s.demands[i] = s.budgets[i].TakeDemand(now)
	}
	for i := range s.budgets {
		s.budgets[i].Grant(now, len(s.budgets), func(p BudgetID, rate MicroRU) Grant {
			wants := make([]MicroRU, len(s.budgets))
			for j, list := range last {
				for _, d := range list {
					if d.BudgetID == p {
						wants[j] = d.Wanted
					}
				}
			}
			return Grant{Share: Allot(rate, wants)[i]}
		})
	}
}

func (s *simulation) p99() time.Duration {
	slices.Sort(s.waits)
	return s.waits[len(s.waits)*99/100]
}

// One of 100 tenants has a demand of fifty times its share, the others of 80 % of theirs. With guarantees the partition still
// admits its RU/s, each tenant gets its demand up to its guarantee, and the others do not wait longer than without
// the neighbour.
func TestTenantsDoNotStarve(t *testing.T) {
	const tenants, rus, share = 100, 10_000, 100
	for _, x := range []struct{ servers, partitions int }{{1, 1}, {1, 2}, {3, 1}} {
		servers, partitions := x.servers, x.partitions
		demands := make([]float64, tenants)
		for i := range demands {
			demands[i] = 0.8 * share
		}
		limits := NewTenants(1, TenantLimits{Min: TenantWhole / tenants * int64(partitions)}, nil)
		demands[0] = 0
		alone := simulate(servers, partitions, 1, rus, limits, demands)
		demands[0] = 50 * share
		unlimited := simulate(servers, partitions, 1, rus, nil, demands)
		s := simulate(servers, partitions, 1, rus, limits, demands)
		t.Logf("%d servers, %d partitions: p99 of the others %v without the neighbour, %v beside it, %v beside it without guarantees; admitted %s of %d RU",
			servers, partitions, alone.p99(), s.p99(), unlimited.p99(), s.charged[0], rus/int64(partitions)*simSeconds)
		if want := MicroRU(rus/partitions*simSeconds) * RU; s.charged[0] < want-want/1000 || s.charged[0] > want+want/1000 {
			t.Errorf("%d servers, %d partitions: admitted %s of %s RU", servers, partitions, s.charged[0], want)
		}
		if a, b := alone.p99(), s.p99(); b > a*11/10 {
			t.Errorf("%d servers, %d partitions: the p99 of the others rises from %v to %v", servers, partitions, a, b)
		}
		if unlimited.p99() < 2*alone.p99() {
			t.Errorf("%d servers, %d partitions: without guarantees the others do not wait: the test shows nothing", servers, partitions)
		}
		s.checkGuarantees(t, tenants, share*RU)
	}
}

// checkGuarantees checks that each tenant gets in each window its demand up to its guarantee, but for two requests
// that may end in the next window.
func (s *simulation) checkGuarantees(t *testing.T, tenants int, guarantee MicroRU) {
	t.Helper()
	for i := range tenants {
		for window := simWarm / simWindow; window < (simWarm+simSeconds)/simWindow; window++ {
			key := [2]int{i, window}
			if want := min(s.demanded[key], simWindow*guarantee); s.admitted[key] < want-2*simPrice {
				t.Errorf("tenant %d in window %d: %s RU, want %s", i, window, s.admitted[key], want)
			}
		}
	}
}

// If all tenants have a demand of more than their guarantees, each gets its guarantee. Guarantees of more than 100 % shrink in
// proportion, but for a named tenant.
func TestTenantsAllDemandMore(t *testing.T) {
	const tenants, rus = 40, 4000
	demands := make([]float64, tenants)
	for i := range demands {
		demands[i] = 300
	}
	for _, x := range []struct {
		percent        int64
		named, unnamed MicroRU
	}{{2, 400 * RU, 80 * RU}, {5, 400 * RU, 3600 * RU / (tenants - 1) * 95 / 100}} {
		limits := NewTenants(1, TenantLimits{Min: x.percent * TenantWhole / 100}, map[string]TenantLimits{string([]byte{7}): {Min: TenantWhole / 10}})
		demands[7] = 800
		s := simulate(1, 1, tenants, rus, limits, demands)
		if want := rus * simSeconds * RU; s.charged[0] < want-want/1000 || s.charged[0] > want+want/1000 {
			t.Errorf("%d %%: admitted %s of %s RU", x.percent, s.charged[0], want)
		}
		for i := range tenants {
			want := x.unnamed
			if i == 7 {
				want = x.named
			}
			for window := simWarm / simWindow; window < (simWarm+simSeconds)/simWindow; window++ {
				if got := s.admitted[[2]int{i, window}]; i != 0 && got < simWindow*want*99/100 {
					t.Errorf("%d %%: tenant %d in window %d: %s RU, want %s", x.percent, i, window, got, simWindow*want)
				}
			}
		}
	}
}

// A tenant uses no more than its ceiling, also alone, and its debt delays only itself.
func TestTenantCeiling(t *testing.T) {
	limits := NewTenants(1, TenantLimits{Max: TenantWhole / 4}, map[string]TenantLimits{"large": {Max: TenantWhole / 2}})
	b := limitedBucket(100*RU, Options{})
	b.setTenants(limits)
	small, large := Class{Tenant: limits.Of([]byte("small"))}, Class{Tenant: limits.Of([]byte("large"))}
	b.ChargeAs(t0, small, 70*RU)
	if by, w := b.admit(t0, small); w != 2*time.Second || by != (Standing{TenantLimit, 25 * RU, -45 * RU}) {
		t.Errorf("%+v, wait %v", by, w)
	}
	if w := b.AdmitAs(t0, large); w != 0 {
		t.Errorf("the other tenant waits %v", w)
	}
	b.ChargeAs(t0, large, 50*RU)
	if by, w := b.admit(t0, large); w != time.Second || by.Limit != PartitionLimit {
		t.Errorf("%+v, wait %v", by, w)
	}
	if w := b.AdmitAs(after(time.Second), large); w != 0 {
		t.Errorf("a second later it waits %v", w)
	}
	if b.AdmitAs(after(time.Second), small) == 0 {
		t.Error("the debt is gone a second later")
	}
	if b.AdmitAs(after(2*time.Second), small) != 0 {
		t.Error("the debt is not paid after two seconds")
	}
}

// With server-side retry a request that its guarantee covers does not wait behind others, nor do requests behind one that
// its ceiling delays.
func TestTenantsInTheQueue(t *testing.T) {
	limits := NewTenants(1, TenantLimits{Min: TenantWhole / 10}, map[string]TenantLimits{"capped": {Max: TenantWhole / 100}})
	of := func(name string) Class { return Class{Tenant: limits.Of([]byte(name))} }
	for _, x := range []struct {
		first string
		used  MicroRU // by the tenant of the first request, which then waits
		other Class
	}{{"greedy", 1_000_000 * RU, of("other")}, {"capped", 900 * RU, Class{}}} {
		synctest.Test(t, func(t *testing.T) {
			b := limitedBucket(1000*RU, Options{})
			b.setTenants(limits)
			b.ChargeAs(t0, of(x.first), x.used)
			ctx, cancel := context.WithCancel(t.Context())
			waiting := make(chan error, 1)
			go func() {
				_, err := b.Wait(ctx, t0, of(x.first), time.Hour)
				waiting <- err
			}()
			synctest.Wait()
			if w, err := b.Wait(ctx, t0, x.other, time.Hour); w != 0 || err != nil {
				t.Errorf("behind the tenant %s a request waits %v, %v", x.first, w, err)
			}
			cancel()
			if err := <-waiting; err != context.Canceled {
				t.Errorf("the request of the tenant %s: %v", x.first, err)
			}
		})
	}
}

// A queue that is full of requests which a ceiling delays refuses further ones of that tenant, and no others.
func TestDelayedTenantFillsTheQueue(t *testing.T) {
	limits := NewTenants(1, TenantLimits{Max: TenantWhole / 100}, nil)
	capped := Class{Tenant: limits.Of([]byte("capped"))}
	b := limitedBucket(1000*RU, Options{})
	b.setTenants(limits)
	b.ChargeAs(t0, capped, 500*RU)
	for b.queue.len() < queueMax {
		b.queue.waiters = append(b.queue.waiters, &waiter{wake: make(chan struct{}, 1), until: t0.Unix() + 49})
	}
	if w, err := b.Wait(t.Context(), t0, Class{}, time.Hour); w != 0 || err != nil {
		t.Errorf("another request waits %v, %v", w, err)
	}
	if _, err := b.Wait(t.Context(), t0, capped, time.Hour); !errors.As(err, new(*Throttled)) {
		t.Errorf("a further request of the tenant: %v", err)
	}
}

// A partition remembers at most tenantsMax tenants.
func TestTenantsAreBounded(t *testing.T) {
	limits := NewTenants(1, TenantLimits{Min: 1, Max: TenantWhole / 2}, nil)
	b := limitedBucket(1000*RU, Options{})
	b.setTenants(limits)
	for i := range uint64(3 * tenantsMax) {
		b.ChargeAs(t0, Class{Tenant: i + 1}, 1)
	}
	n := 0
	for x := b.tenants.newest; x != nil; x = x.older {
		n++
	}
	if len(b.tenants.by) != tenantsMax || n != tenantsMax || b.tenants.oldest.id != 2*tenantsMax+1 {
		t.Errorf("%d tenants, %d in the list", len(b.tenants.by), n)
	}
}

// Admission and charge of one request of a collection with RU/s, without tenants and with them.
func BenchmarkLimitedCommand(b *testing.B) {
	for _, x := range []struct {
		name   string
		limits *Tenants
	}{{"none", nil}, {"tenants", NewTenants(1, TenantLimits{Min: TenantWhole / 100, Max: TenantWhole / 10}, nil)}} {
		b.Run(x.name, func(b *testing.B) {
			var budgets Budgets
			pool := budgets.Collection(1)
			pool.Set(t0, Throughput{Mode: Manual, RUs: RateMax}, Options{})
			pool.SetTenants(x.limits)
			shards, c := []int{0}, Class{}
			if x.limits != nil {
				c.Tenant = x.limits.Of([]byte("tenant"))
			}
			b.ReportAllocs()
			for b.Loop() {
				if budgets.Admit(t0, Scope{Collection: 1, Shards: shards}, c) != nil {
					b.Fatal("refused")
				}
				budgets.ChargeAt(t0, c, ShardID{1, 0}, 1)
			}
		})
	}
}
