package ratelimit

import (
	"testing"
	"time"
)

// t0 is the start of a clock minute.
var t0 = time.Unix(1_800_000_000, 0)

func after(d time.Duration) time.Time { return t0.Add(d) }

// limitedBucket has rate RU/s from t0 on.
func limitedBucket(rate MicroRU, o Options) *Bucket {
	b := &Bucket{}
	b.setRate(t0, rate, &o)
	return b
}

func TestBucketDebt(t *testing.T) {
	b := limitedBucket(100*RU, Options{})
	if b.Admit(t0) != 0 {
		t.Fatal("a full bucket refuses")
	}
	b.Charge(t0, 350*RU)
	if got := b.Balance(t0); got != -250*RU {
		t.Fatalf("balance %s", got)
	}
	if w := b.Admit(after(250 * time.Millisecond)); w != 2750*time.Millisecond {
		t.Fatalf("wait %v: -250 needs three refills", w)
	}
	if w := b.Admit(after(2 * time.Second)); w != time.Second {
		t.Fatalf("wait %v", w)
	}
	if w := b.Admit(after(3 * time.Second)); w != 0 {
		t.Fatalf("wait %v after the announced time", w)
	}
	if got := b.Balance(after(3 * time.Second)); got != 50*RU {
		t.Fatalf("balance %s", got)
	}
	if got := b.Balance(after(90 * time.Second)); got != 100*RU {
		t.Fatalf("idle seconds are saved up: %s", got)
	}
	b.Charge(after(90*time.Second), 100*RU)
	if w := b.Admit(after(90*time.Second + 999*time.Millisecond)); w != time.Millisecond {
		t.Fatalf("wait %v: zero balance must be refused until the next second", w)
	}
}

// The wait of a refusal is exact: one nanosecond earlier the request is still refused, and at that time it is
// admitted.
func TestBucketWaitIsExact(t *testing.T) {
	for debt := MicroRU(1); debt < 2000*RU; debt = debt*3 + 7 {
		b := limitedBucket(130*RU, Options{})
		b.Charge(t0, 130*RU+debt)
		now := after(123456789)
		w := b.Admit(now)
		if w <= 0 || b.Admit(now.Add(w-1)) == 0 || b.Admit(now.Add(w)) != 0 {
			t.Fatalf("debt %s: wait %v is not exact", debt, w)
		}
	}
}

func TestBucketClockBackwards(t *testing.T) {
	b := limitedBucket(100*RU, Options{})
	b.Charge(after(10*time.Second), 150*RU)
	if got := b.Balance(after(5 * time.Second)); got != -50*RU {
		t.Fatalf("balance %s", got)
	}
	b.Charge(after(5*time.Second), RU)
	if w := b.Admit(after(10 * time.Second)); w != time.Second {
		t.Fatalf("wait %v", w)
	}
}

// A bucket of 100 RU/s that is unused for five minutes has a burst credit of 30,000 RU, with which it admits 3,000
// RU/s for ten seconds, its own rate included.
func TestBucketBurst(t *testing.T) {
	b := limitedBucket(100*RU, Options{Burst: true})
	start := after(301 * time.Second)
	var total MicroRU
	perSecond := map[int]MicroRU{}
	for ms := 0; ms < 15_000; ms++ {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		for b.Admit(now) == 0 {
			b.Charge(now, 5*RU)
			total += 5 * RU
			perSecond[ms/1000] += 5 * RU
		}
	}
	if total != 30_000*RU+15*100*RU {
		t.Errorf("%s RU in 15 s", total)
	}
	for s := range 10 {
		if perSecond[s] != 3000*RU {
			t.Errorf("second %d: %s", s, perSecond[s])
		}
	}
	if perSecond[14] != 100*RU {
		t.Errorf("after the bank is empty: %s", perSecond[14])
	}
	if n := limitedBucket(3000*RU, Options{Burst: true}); n.burst {
		t.Error("a bucket of 3000 RU/s bursts")
	}
}

// Burst credit pays a debt at the burst rate of 3,000 RU/s, not at the provisioned rate.
func TestBucketBurstPaysDebt(t *testing.T) {
	b := limitedBucket(100*RU, Options{Burst: true})
	now := after(301 * time.Second)
	b.Charge(now, 8000*RU)
	for s, want := range []MicroRU{-5000 * RU, -2000 * RU, 0} {
		if got := b.Balance(now.Add(time.Duration(s) * time.Second)); got != want {
			t.Fatalf("second %d: %s, want %s", s, got, want)
		}
	}
	if w := b.Admit(now.Add(2 * time.Second)); w != 0 {
		t.Fatalf("wait %v although bank and burst speed are left", w)
	}
}

func TestBucketPerMinute(t *testing.T) {
	b := limitedBucket(100*RU, Options{RUPerMinute: true})
	var minute [2]MicroRU
	for s := range 120 {
		now := after(time.Duration(s) * time.Second)
		for b.Admit(now) == 0 {
			b.Charge(now, 10*RU)
			minute[s/60] += 10 * RU
		}
	}
	if want := 60*100*RU + 1000*RU; minute != [2]MicroRU{want, want} {
		t.Errorf("%v", minute)
	}
}

func TestBucketGroups(t *testing.T) {
	b := limitedBucket(1000*RU, Options{Groups: Groups{1: {Percent: 20}}})
	spend := func(now time.Time, c Class) (n MicroRU) {
		for b.AdmitAs(now, c) == 0 && n < 5000*RU {
			b.ChargeAs(now, c, 10*RU)
			n += 10 * RU
		}
		return n
	}
	if got := spend(t0, Class{Group: 2}); got != 200*RU {
		t.Errorf("group 2 used %s", got)
	}
	if got := spend(t0, Class{Group: 1}); got != 800*RU {
		t.Errorf("an undefined group is limited only by the shard: %s", got)
	}
	if got := spend(after(time.Second), Class{Group: 2}); got != 200*RU {
		t.Errorf("group 2 in the next second used %s", got)
	}
}

func TestBucketPriority(t *testing.T) {
	b := limitedBucket(1000*RU, Options{})
	now := t0
	for b.AdmitAs(now, Class{Priority: Low}) == 0 {
		b.ChargeAs(now, Class{Priority: Low}, 10*RU)
	}
	if got := b.Balance(now); got != 0 {
		t.Errorf("low priority alone leaves %s", got)
	}
	now = after(time.Second)
	b.Admit(now)
	for b.AdmitAs(now, Class{Priority: Low}) == 0 {
		b.ChargeAs(now, Class{Priority: Low}, 10*RU)
	}
	if got := b.Balance(now); got != 200*RU {
		t.Errorf("beside high priority, low leaves %s", got)
	}
	now = after(5 * time.Second)
	for b.AdmitAs(now, Class{Priority: Background}) == 0 {
		b.ChargeAs(now, Class{Priority: Background}, 10*RU)
	}
	if got := b.Balance(now); got != 500*RU {
		t.Errorf("background leaves %s", got)
	}
}

func TestClassFor(t *testing.T) {
	g := Groups{{Percent: 10}, {Percent: 20, AppName: "report"}}
	for _, c := range []struct {
		group    int
		priority string
		app      string
		want     Class
		bad      bool
	}{
		{0, "", "", Class{}, false},
		{2, "low", "", Class{Priority: Low, Group: 2}, false},
		{0, "high", "report", Class{Priority: High, Group: 2}, false},
		{1, "", "report", Class{Priority: High, Group: 1}, false},
		{0, "", "other", Class{}, false},
		{6, "", "", Class{}, true},
		{-1, "", "", Class{}, true},
		{0, "urgent", "", Class{}, true},
	} {
		got, err := g.ClassFor(c.group, c.priority, c.app)
		if (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
}

func TestBucketStats(t *testing.T) {
	b := limitedBucket(100*RU, Options{})
	b.Charge(t0, 30*RU)
	b.Charge(after(time.Second), 50*RU)
	b.Charge(after(59*time.Second), 20*RU)
	b.roll(after(59 * time.Second))
	if s := b.stats(); s.LastMinute != 100*RU || s.Normalized != 50 || s.LastSecond != 0 {
		t.Errorf("%+v", s)
	}
	b.roll(after(60 * time.Second))
	if s := b.stats(); s.LastMinute != 70*RU || s.LastSecond != 20*RU || s.Total != 100*RU {
		t.Errorf("%+v", s)
	}
	b.Charge(after(61*time.Second), 500*RU)
	b.Admit(after(61 * time.Second))
	if s := b.stats(); s.Normalized != 100 || s.Throttled != 1 || s.ThrottledMinute != 1 {
		t.Errorf("%+v", s)
	}
	b.roll(after(time.Hour))
	if s := b.stats(); s.LastMinute != 0 || s.ThrottledMinute != 0 || s.Throttled != 1 {
		t.Errorf("%+v", s)
	}
}

// A request may opt out of the minute's add-on.
func TestBucketPerMinuteOptOut(t *testing.T) {
	var b Bucket
	b.setRate(t0, 100*RU, &Options{RUPerMinute: true})
	without := Class{NoMinute: true}
	b.ChargeAs(t0, without, 100*RU)
	if b.AdmitAs(t0, without) == 0 || b.AdmitAs(t0, Class{}) != 0 {
		t.Error("the second is spent: only who takes the add-on may go on")
	}
	b.ChargeAs(t0, without, 50*RU)
	if got := b.Balance(t0); got != -50*RU {
		t.Errorf("the add-on paid for it: %v", got)
	}
	if b.AdmitAs(t0, without) == 0 || b.AdmitAs(t0, Class{}) != 0 {
		t.Error("who takes the add-on does not wait for the debt of who does not")
	}
	b.ChargeAs(t0, Class{}, 950*RU)
	if b.AdmitAs(t0, Class{}) == 0 || b.Balance(t0) != 0 {
		t.Errorf("ten seconds' worth are spent: %v", b.Balance(t0))
	}
}

// A VirtualClock stops at the beginning of a second, moves only by Advance while it is stopped, and does not go back
// when it runs again.
func TestClockStopsAndRuns(t *testing.T) {
	machine := t0.Add(300 * time.Millisecond)
	c := FollowClock(func() time.Time { return machine })
	if c.Stopped() || c.Now() != machine {
		t.Error("it does not follow")
	}
	if c.Stop(); !c.Stopped() || c.Now() != after(time.Second) {
		t.Errorf("stopped at %v", c.Now())
	}
	machine = after(10 * time.Second)
	if c.Advance(time.Minute); c.Now() != after(61*time.Second) {
		t.Errorf("advanced to %v", c.Now())
	}
	if c.Run(); c.Now() != after(61*time.Second) {
		t.Errorf("runs at %v", c.Now())
	}
	if machine = after(12 * time.Second); c.Now() != after(63*time.Second) {
		t.Errorf("two seconds later: %v", c.Now())
	}
}

// While High requests are refused, Low requests get at most a tenth of each second. Three seconds after the last
// refusal, Low is admitted as usual.
func TestLowYieldsWhileHighIsRefused(t *testing.T) {
	b := limitedBucket(1000*RU, Options{})
	now := t0
	spend := func(c Class, most int) (spent int) {
		for spent < most && b.AdmitAs(now, c) == 0 {
			b.ChargeAs(now, c, 10*RU)
			spent += 10
		}
		return spent
	}
	for second := range 5 {
		now = now.Add(time.Second)
		low := spend(Class{Priority: Low}, 1000) // before all others in each second
		high := spend(Class{}, 5000)
		if b.AdmitAs(now, Class{}) == 0 {
			t.Fatal("High is not refused")
		}
		if second > 0 && (low > 110 || low < 90 || high < 890) {
			t.Errorf("second %d: low %d, high %d", second, low, high)
		}
	}
	now = now.Add(3 * time.Second)
	if low := spend(Class{Priority: Low}, 2000); low < 990 {
		t.Errorf("alone: low %d", low)
	}
}
