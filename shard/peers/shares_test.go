package peers

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

const rate = 1000

// seeds is the number of random runs of each test that repeats its run with another seed.
const seeds = 20

// TestSteady checks that overloaded servers together admit as much as one server would, for any distribution
// of the demand and with late rows and reads.
func TestSteady(t *testing.T) {
	for _, demands := range [][]int64{{3000}, {3000, 3000}, {3000, 0}, {800, 800, 800}, {5000, 300, 0}, {2000, 200, 200, 0, 0}, {600, 600, 600, 600, 600}} {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprint(demands, seed), func(t *testing.T) {
				w := newWorld(t, seed, manual(rate, ratelimit.Options{}))
				w.late = func() time.Duration { return time.Duration(w.rand.IntN(int(seed)*20+1)) * time.Millisecond }
				for _, d := range demands {
					w.add(steady(d))
				}
				w.run(40 * time.Second)
				w.within("admitted", w.sum(5, 40), 35*rate*ratelimit.RU, 2)
				for from := int64(5); from < 30; from++ { // and never more over ten seconds
					if got, most := w.sum(from, from+10), ratelimit.MicroRU(10*rate+2*rate)*ratelimit.RU; got > most {
						t.Errorf("%v RU from second %d on, at most %v", got, from, most)
					}
				}
			})
		}
	}
}

// TestAlone checks that the budget of a server without peers equals a budget without this package.
func TestAlone(t *testing.T) {
	w := newWorld(t, 1, manual(rate, ratelimit.Options{Burst: true}))
	a := w.add(steady(1500))
	var plain ratelimit.Budgets
	manual(rate, ratelimit.Options{Burst: true})(&plain, w.clock())
	b := &server{world: w, demand: steady(1500), price: a.price, budgets: &plain, admitted: map[int64]ratelimit.MicroRU{}, scope: a.scope, place: a.place}
	for range 1000 {
		a.step()
		b.step()
		w.now += step
		if x, y := a.budgets.Collection(1).Stats(w.clock())[0], b.budgets.Collection(1).Stats(w.clock())[0]; x != y {
			t.Fatalf("at %v: %+v, and without a Divider %+v", w.now, x, y)
		}
	}
}

// TestMoves checks that a server to which all demand moves admits the whole rate, within 10 %, at most four seconds
// later, and that both together never admit more than the rate, within 2 %.
func TestMoves(t *testing.T) {
	for seed := range uint64(seeds) {
		w := newWorld(t, seed, manual(rate, ratelimit.Options{}))
		w.late = func() time.Duration { return time.Duration(w.rand.IntN(300)) * time.Millisecond }
		moved := 20*time.Second + time.Duration(w.rand.IntN(1000))*time.Millisecond
		before := func(at time.Duration) ratelimit.MicroRU {
			if at < moved {
				return 3000 * ratelimit.RU
			}
			return 0
		}
		w.add(before)
		b := w.add(func(at time.Duration) ratelimit.MicroRU { return 3000*ratelimit.RU - before(at) })
		w.run(40 * time.Second)
		w.within("before", w.sum(5, 20), 15*rate*ratelimit.RU, 2)
		w.within("three seconds later", b.between(24, 25), rate*ratelimit.RU, 10)
		w.within("after", b.between(25, 40), 15*rate*ratelimit.RU, 2)
		if got := w.sum(5, 40); got > 35*rate*ratelimit.RU*102/100 {
			t.Errorf("admitted %v RU in 35 seconds", got)
		}
	}
}

// TestDies checks that the share of a server that dies, or cannot reach the store, goes to the others within
// three seconds, and that in all no more than the rate is admitted, give or take 2 %.
func TestDies(t *testing.T) {
	for seed := range uint64(seeds) {
		w := newWorld(t, seed, manual(rate, ratelimit.Options{}))
		w.late = func() time.Duration { return time.Duration(w.rand.IntN(300)) * time.Millisecond }
		var list []*server
		for range 3 {
			list = append(list, w.add(steady(2000)))
		}
		w.run(20*time.Second + time.Duration(w.rand.IntN(1000))*time.Millisecond)
		if seed%2 == 0 {
			list[1].dead = true
		} else {
			list[1].mute = true
		}
		w.run(20 * time.Second)
		w.within("before", w.sum(5, 20), 15*rate*ratelimit.RU, 2)
		w.within("once three seconds are over", w.sum(24, 40), 16*rate*ratelimit.RU, 2)
		w.within("all in all", w.sum(5, 40), 35*rate*ratelimit.RU, 10)
		if got := w.sum(5, 40); got > 35*rate*ratelimit.RU*102/100 {
			t.Errorf("admitted %v RU in 35 seconds", got)
		}
		if !list[1].mute {
			continue
		}
		list[1].mute = false // it can reach the store again
		w.run(20 * time.Second)
		w.within("when it is back", w.sum(44, 60), 16*rate*ratelimit.RU, 2)
		if got := list[1].between(44, 60); got < 4*rate*ratelimit.RU {
			t.Errorf("the server that is back has had %v RU", got)
		}
	}
}

// TestJoins checks that servers that join do not add to the rate.
func TestJoins(t *testing.T) {
	for seed := range uint64(seeds) {
		w := newWorld(t, seed, manual(rate, ratelimit.Options{}))
		w.add(steady(2000))
		w.run(10 * time.Second)
		for range 3 {
			w.add(steady(2000))
			w.run(5*time.Second + time.Duration(w.rand.IntN(1000))*time.Millisecond)
		}
		w.run(10 * time.Second)
		w.within("all in all", w.sum(5, 33), 28*rate*ratelimit.RU, 2)
	}
}

// TestStalls checks that two servers that read the rows 1.8 seconds late for ten seconds admit the rate together,
// within 5 %, and afterwards within 2 %.
func TestStalls(t *testing.T) {
	w := newWorld(t, 3, manual(rate, ratelimit.Options{}))
	stall := false
	w.late = func() time.Duration {
		if stall {
			return 1800 * time.Millisecond
		}
		return 0
	}
	w.add(steady(3000))
	w.add(steady(3000))
	w.run(10 * time.Second)
	stall = true
	w.run(10 * time.Second)
	stall = false
	w.run(20 * time.Second)
	w.within("all in all", w.sum(5, 40), 35*rate*ratelimit.RU, 5)
	w.within("afterwards", w.sum(25, 40), 15*rate*ratelimit.RU, 2)
}

// TestShares checks that the shares of all servers add up to exactly the rate, for random demands and ages of the
// demand rows, none of which has unused shares.
func TestShares(t *testing.T) {
	w := newWorld(t, 5, nil)
	for range 2000 {
		rows, n := map[storage.MemberID]demandRow{}, 1+w.rand.IntN(5)
		for i := range n {
			r := demandRow{second: 100 - int64(w.rand.IntN(4))}
			if w.rand.IntN(3) > 0 {
				r.needs = []ratelimit.Demand{{BudgetID: ratelimit.BudgetID{Collection: 1}, Wanted: ratelimit.MicroRU(w.rand.Int64N(5e9))}}
			}
			rows[storage.MemberID{byte(i)}] = r
		}
		sum, of := ratelimit.MicroRU(0), ratelimit.MicroRU(1+w.rand.Int64N(2e9))
		for i := range n {
			d := shares{self: storage.MemberID{byte(i)}}
			d.setDemands(101, rows)
			g := d.pending[101].share(i, ratelimit.BudgetID{Collection: 1}, of)
			if g.Share < of/ratelimit.MicroRU(101*n) {
				t.Fatalf("server %d of %d has %d of %d", i, n, g.Share, of)
			}
			sum += g.Share
		}
		if sum != of {
			t.Fatalf("the shares of %v add up to %d, the rate is %d", rows, sum, of)
		}
	}
}

// TestBurst checks that the servers together spend burst credit only once.
func TestBurst(t *testing.T) {
	w := newWorld(t, 6, manual(rate, ratelimit.Options{Burst: true}))
	idle := func(at time.Duration) ratelimit.MicroRU {
		if at < 10*time.Second {
			return 0
		}
		return 4000 * ratelimit.RU
	}
	for range 2 {
		w.add(idle)
	}
	w.run(60 * time.Second)
	saved := 11 * rate * ratelimit.RU // ten idle seconds, and the first one's balance
	if got, most := w.sum(10, 60), 50*rate*ratelimit.RU+saved; got > most*102/100 || got < most*90/100 {
		t.Errorf("admitted %v RU after ten idle seconds, wanted up to %v", got, most)
	}
	for second := int64(10); second < 60; second++ {
		if got := w.sum(second, second+1); got > 3500*ratelimit.RU {
			t.Errorf("second %d: %v RU", second, got)
		}
	}
}

// TestAutoscale checks that every server computes its autoscale bill from the RU that all servers together have used.
func TestAutoscale(t *testing.T) {
	w := newWorld(t, 8, func(b *ratelimit.Budgets, now time.Time) {
		b.Collection(1).Set(now, ratelimit.Throughput{Mode: ratelimit.Autoscale, RUs: rate}, ratelimit.Options{})
	})
	later := func(at time.Duration) ratelimit.MicroRU {
		if at < 4*time.Second { // when both have shares
			return 0
		}
		return 300 * ratelimit.RU
	}
	a, b := w.add(later), w.add(later)
	w.run(25 * time.Second)
	for i, s := range []*server{a, b} {
		if this, _ := s.budgets.Collection(1).Autoscaled(w.clock()); this < 580 || this > 640 {
			t.Errorf("server %d would bill %d RU/s, wanted the 600 of both", i, this)
		}
		if got := s.budgets.Collection(1).Stats(w.clock())[0]; got.PeersSpent < 16*300*ratelimit.RU || got.PeersSpent > 20*300*ratelimit.RU {
			t.Errorf("server %d has heard of %v RU", i, got.PeersSpent)
		}
	}
}

// TestDemandRow checks that encoded rows can be decoded, that truncated rows are refused, and that a row of another
// version is read as one without needs.
func TestDemandRow(t *testing.T) {
	r := demandRow{second: 7, needs: []ratelimit.Demand{{BudgetID: ratelimit.BudgetID{Database: "d", Shard: 3}, Spent: 1, Wanted: 2}, {BudgetID: ratelimit.BudgetID{Collection: 9, Shard: -1}, Foreground: 5}}}
	b := r.encode()
	got, err := decodeDemandRow(b)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(r) {
		t.Errorf("%v, %v; wanted %v", got, err, r)
	}
	for i := 1; i < len(b); i++ {
		if _, err := decodeDemandRow(b[:i]); err == nil {
			t.Errorf("the first %d bytes were taken for a row", i)
		}
	}
	if r, err := decodeDemandRow([]byte{9, 9}); err != nil || len(r.needs) > 0 {
		t.Errorf("a row of another version: %v, %v", r, err)
	}
}

func FuzzDemandRow(f *testing.F) {
	f.Add(demandRow{second: 7, needs: []ratelimit.Demand{{BudgetID: ratelimit.BudgetID{Database: "d", Shard: 3}, Spent: 1}}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeDemandRow(b); err == nil {
			if again, err := decodeDemandRow(r.encode()); err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
				t.Errorf("%v became %v, %v", r, again, err)
			}
		}
	})
}

// TestAllBudgets checks that every kind of budget is divided: those of uneven partitions, of a database and of
// metadata.
func TestAllBudgets(t *testing.T) {
	w := newWorld(t, 9, func(b *ratelimit.Budgets, now time.Time) {
		p := b.Collection(1)
		p.Set(now, ratelimit.Throughput{Mode: ratelimit.Manual, RUs: rate}, ratelimit.Options{})
		p.SetShards(now, []int{0, 1})
		p.Arrange(now, []ratelimit.Share{{Shard: 0, RUs: 300}, {Shard: 1, RUs: 700}})
		b.Database("d").Set(now, ratelimit.Throughput{Mode: ratelimit.Manual, RUs: rate}, ratelimit.Options{})
		b.SetDatabase(2, "d", nil)
		b.SetMetadataRate(now, 240)
	})
	type meter func(s *server) (admit func() bool, charge func())
	place := func(at ratelimit.ShardID) meter {
		return func(s *server) (func() bool, func()) {
			scope := ratelimit.Scope{Collection: at.Collection, Shards: []int{at.Shard}}
			return func() bool { return s.budgets.Admit(w.clock(), scope, ratelimit.Class{}) == nil },
				func() { s.budgets.ChargeAt(w.clock(), ratelimit.Class{}, at, ratelimit.RU) }
		}
	}
	kinds := []struct {
		name string
		rus  ratelimit.MicroRU
		of   meter
	}{
		{"the small partition", 300, place(ratelimit.ShardID{Collection: 1})},
		{"the large partition", 700, place(ratelimit.ShardID{Collection: 1, Shard: 1})},
		{"the database", rate, place(ratelimit.ShardID{Collection: 2})},
		{"metadata", 240, func(s *server) (func() bool, func()) {
			m := s.budgets.Metadata()
			return func() bool { return m.Admit(w.clock()) == 0 }, func() { m.Charge(w.clock(), ratelimit.RU) }
		}},
	}
	for range 3 {
		w.add(steady(0))
	}
	const from, to = 5, 25
	sums := make([]ratelimit.MicroRU, len(kinds))
	for w.now < to*time.Second {
		for i, k := range kinds {
			for _, s := range w.servers {
				admit, charge := k.of(s)
				for range 40 {
					if !admit() {
						break
					}
					charge()
					if w.now >= from*time.Second {
						sums[i] += ratelimit.RU
					}
				}
			}
		}
		w.run(step)
	}
	for i, k := range kinds {
		w.within(k.name, sums[i], (to-from)*k.rus*ratelimit.RU, 2)
	}
}
