package ratelimit

import (
	"sync"
	"sync/atomic"
	"time"
)

// The refill of a bucket, the credits on which it draws after the budget of the running second is used up, and the
// parts of a second that lower priorities leave to higher ones.
const (
	burstSecondsMax  = 300         // burst credit: the unused RU of at most this many seconds are saved
	burstRate        = 3000 * RU   // maximum RU/s with burst credit; buckets with this rate or more have no credit
	perMinuteFactor  = 10          // RU-per-minute add-on: the budget of this many seconds, anew each minute
	perMinuteRateMax = 5000 * RU   // buckets above it get no add-on
	lowPriorityRest  = 5           // Low leaves 1/5 of the second to High
	lowPriorityLeast = 10          // Low gets 1/10 of the second at most while High is refused
	backgroundRest   = 2           // Background leaves 1/2 of the second to all other requests
	refillStep       = time.Second // budgets are refilled in whole seconds of the clock
)

// Bucket is a token bucket, the budget of one shard: it is refilled every second with its rate, and unused
// units of a second are lost, except for burst credit. A High request outside all groups is admitted while the balance
// is positive or credit may be drawn, and its true price is subtracted afterwards. So the balance may become a debt,
// which the following seconds pay off first. The zero Bucket is unlimited and only keeps statistics. Safe for
// concurrent use.
type Bucket struct {
	limited atomic.Bool // read without mu: an unlimited bucket admits without locking

	mu              sync.Mutex
	started         bool
	origin          time.Time // when it started; elapsed counts from here
	second          int64     // the second that balance belongs to
	rate            MicroRU   // of all servers together
	share           MicroRU   // this server's share: the whole rate, unless there are peers
	servers         int       // servers that share the rate; 0 or 1 = not shared
	hasShare        bool      // this server has received a share, or has not joined running peers; see Budgets.Grant
	balance         MicroRU
	burst           bool
	burstCredit     MicroRU // burst credit: unused units of earlier seconds
	burstDrawn      MicroRU // taken from burstCredit in this second
	perMin          bool
	minute          int64
	minuteCredit    MicroRU // left of this minute's add-on
	lastHigh        int64   // the last second with High traffic
	lastHighRefused int64   // the last second in which High was refused
	uncharged       MicroRU // expected charge of requests that left the queue in this second and are not charged yet
	averageCharge   MicroRU // moving average of charges
	demand          demand  // since the last Budgets.TakeDemand
	groups          [GroupsMax]groupBudget
	tenants         *tenantBudgets // nil if tenants have no limits
	use             usage
	queue           queue

	requests requestCounts // not guarded by mu
}

// groupBudget caps one throughput bucket within a shard.
type groupBudget struct {
	percent uint8
	rate    MicroRU // 0: no cap
	balance MicroRU
}

// setRate sets the rate of a bucket in millionths of an RU per second; a rate of 0 or less makes the bucket
// unlimited. A limited bucket keeps its balance and its debt, plus the increase of this server's share; a balance
// above the new share is cut.
func (b *Bucket) setRate(now time.Time, rate MicroRU, o *Options) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := !b.started || !b.limited.Load()
	b.roll(now)
	was := b.share
	b.share = b.newShare(fresh, min(max(rate, 0), microMax))
	b.rate = min(max(rate, 0), microMax)
	added := b.share - was
	b.burst, b.perMin = o.Burst && rate < burstRate, o.RUPerMinute && rate <= perMinuteRateMax
	b.burstCredit = min(b.burstCredit, b.burstCreditMax())
	if !b.perMin {
		b.minuteCredit = 0
	} else if fresh {
		b.minuteCredit = b.evenShare(perMinuteFactor * b.rate)
	}
	switch {
	case fresh:
		b.balance = b.share
	case added > 0: // the higher rate is usable at once
		b.balance = addSaturating(b.balance, added)
	}
	b.balance = min(b.balance, b.share)
	for i := range b.groups {
		g := &b.groups[i]
		g.percent = o.Groups[i].Percent
		rate := b.share / 100 * MicroRU(g.percent)
		if g.rate == 0 {
			g.balance = rate
		}
		g.rate, g.balance = rate, min(g.balance, rate)
	}
	b.limited.Store(rate > 0)
	if rate <= 0 {
		b.queue.endDelays()
	}
	b.queue.wakeHead(b.second)
}

// Admit returns 0 if a high-priority request may start now. Otherwise it counts a refusal, and returns the estimated
// time after which the request may start if there are no other requests, at most waitMax.
func (b *Bucket) Admit(now time.Time) (wait time.Duration) { return b.AdmitAs(now, Class{}) }

// AdmitAs is Admit for a class of requests.
func (b *Bucket) AdmitAs(now time.Time, c Class) (wait time.Duration) {
	_, wait = b.admit(now, c)
	return wait
}

// admit is AdmitAs, and returns for a refusal also the state of the bucket.
func (b *Bucket) admit(now time.Time, c Class) (by Standing, wait time.Duration) {
	if !b.limited.Load() {
		return by, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now)
	if wait = b.wait(now, c); wait > 0 {
		by = b.standing(c)
		b.countRefusalLocked()
	}
	return by, wait
}

// Charge subtracts the true price of a request that ran.
func (b *Bucket) Charge(now time.Time, c MicroRU) { b.ChargeAs(now, Class{}, c) }

// ChargeAs is Charge for a class of requests.
func (b *Bucket) ChargeAs(now time.Time, class Class, c MicroRU) {
	if c < 0 {
		c = 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now)
	b.use.charge(c, class.Priority != Background)
	b.demand.charge(c, class.Priority != Background)
	if !b.limited.Load() {
		return
	}
	before := b.balance
	b.balance = addSaturating(b.balance, -c)
	if class.Group == 0 && class.Priority != Background {
		b.drawBurstCredit()
		if !class.NoMinute {
			b.drawMinuteCredit()
		}
	} else if class.Group > 0 && class.Group <= GroupsMax {
		g := &b.groups[class.Group-1]
		if g.rate > 0 {
			g.balance = addSaturating(g.balance, -c)
		}
	}
	if b.tenants != nil {
		b.chargeTenant(class, c, max(0, -b.balance)-max(0, -before))
	}
	b.averageCharge += (c - b.averageCharge) / 8
	b.uncharged = max(0, b.uncharged-max(b.averageCharge, 1))
}

// Balance returns what is left of this second's budget; negative is a debt.
func (b *Bucket) Balance(now time.Time) MicroRU {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now)
	return b.balance
}

// elapsed returns the time since the bucket started, counted from the beginning of the second in which it started.
// It subtracts by the monotonic clock if the times have one: when the wall clock is set forward or back, the bucket
// then gains no extra seconds, and refuses no longer than before.
func (b *Bucket) elapsed(now time.Time) time.Duration {
	return now.Sub(b.origin) + time.Duration(b.origin.Nanosecond())
}

// roll advances the bucket to the second of now, and adds the budgets of the seconds that have passed, unless peers
// share the rate (see Budgets.Grant). If the clock goes back, nothing changes.
func (b *Bucket) roll(now time.Time) {
	if !b.started {
		second := now.Unix()
		b.started, b.origin, b.second, b.minute = true, now, second, second/60
		b.use.start(second)
		return
	}
	second := b.origin.Unix() + int64(b.elapsed(now)/time.Second)
	steps := second - b.second
	if steps <= 0 {
		return
	}
	b.second = second
	b.use.advance(second)
	b.uncharged = 0
	if b.rate == 0 {
		return
	}
	if minute := second / 60; minute != b.minute {
		b.minute = minute
		if b.perMin {
			b.minuteCredit = b.evenShare(perMinuteFactor * b.rate)
		}
	}
	if b.servers > 1 {
		b.burstDrawn = 0 // refilled by Budgets.Grant
		return
	}
	for i := range b.groups {
		g := &b.groups[i]
		g.balance = min(g.rate, refill(g.balance, g.rate, steps))
	}
	b.refill(steps)
}

// refill adds the rate of some seconds to the balance, for a bucket that has no peers. A debt is paid second by second
// while there is burst credit, because the burst rate limits its use in each second. The rate of the remaining seconds
// is added at once, and burst credit and the minute's add-on pay what is still a debt. What exceeds the budget of one
// second becomes burst credit, or is lost.
func (b *Bucket) refill(steps int64) {
	b.burstDrawn = 0
	for steps > 0 && b.balance < 0 && b.burstCredit > 0 {
		b.burstDrawn = 0
		b.balance += b.share
		b.payDebt()
		steps--
	}
	if steps > 0 {
		b.burstDrawn = 0
		b.balance = refill(b.balance, b.share, steps)
	}
	if over := b.balance - b.share; over > 0 {
		b.balance = b.share
		b.burstCredit = min(b.burstCreditMax(), addSaturating(b.burstCredit, over))
	}
	if b.balance < 0 {
		b.payDebt()
	}
}

// refill returns balance + rate·steps, saturating.
func refill(balance, rate MicroRU, steps int64) MicroRU {
	if rate == 0 {
		return balance
	}
	if steps > int64(microMax/rate) {
		return microMax
	}
	return addSaturating(balance, rate*MicroRU(steps))
}

// payDebt pays a debt from the burst credit, and then from the minute's add-on.
func (b *Bucket) payDebt() {
	b.drawBurstCredit()
	b.drawMinuteCredit()
}

// drawBurstCredit pays a debt from the burst credit, within the burst rate.
func (b *Bucket) drawBurstCredit() {
	if t := min(-b.balance, b.burstCredit, b.burstLeft()); t > 0 {
		b.balance, b.burstCredit, b.burstDrawn = b.balance+t, b.burstCredit-t, b.burstDrawn+t
	}
}

// drawMinuteCredit pays a debt from the minute's add-on.
func (b *Bucket) drawMinuteCredit() {
	if t := min(-b.balance, b.minuteCredit); t > 0 {
		b.balance, b.minuteCredit = b.balance+t, b.minuteCredit-t
	}
}

// burstCreditMax returns the maximum burst credit of this bucket.
func (b *Bucket) burstCreditMax() MicroRU {
	if !b.burst {
		return 0
	}
	return b.evenShare(burstSecondsMax * b.rate)
}

// burstLeft returns how much burst credit the bucket may still use in this second, so that it stays within
// burstRate.
func (b *Bucket) burstLeft() MicroRU {
	if !b.burst {
		return 0
	}
	return b.proportionalShare(burstRate-b.rate) - b.burstDrawn
}

// wait returns the time until a request of the class may start; 0 means now. It records the second in which High
// requests came or were refused, to which Low yields, and may pay a debt from the minute's add-on. The caller has
// rolled the bucket to now, and holds b.mu.
func (b *Bucket) wait(now time.Time, c Class) time.Duration {
	if !b.limited.Load() {
		return 0
	}
	var need MicroRU // the balance must be above it
	switch c.Priority {
	case High:
		b.lastHigh = b.second
	case Low:
		switch {
		case b.lastHighRefused >= b.second-1:
			need = b.share - b.share/lowPriorityLeast
		case b.lastHigh >= b.second-1:
			need = b.share / lowPriorityRest
		}
	case Background:
		need = b.share / backgroundRest
	}
	if b.balance < 0 && c.Priority == High && c.Group == 0 && !c.NoMinute {
		b.drawMinuteCredit() // a debt of requests that opted out of the add-on
	}
	wait := b.untilAbove(now, b.balance, b.rate, need)
	if wait > 0 && c.Priority == High && c.Group == 0 && b.balance == 0 && (min(b.burstCredit, b.burstLeft()) > 0 || b.minuteCredit > 0 && !c.NoMinute) {
		wait = 0
	}
	var t *tenantBudget
	if b.tenants != nil {
		if t = b.tenant(c); wait > 0 {
			wait = min(wait, b.untilCovered(now, t, c))
		}
	}
	if wait > 0 && c.Priority == High {
		b.lastHighRefused = b.second
	}
	if t != nil {
		wait = max(wait, b.untilBelowCeiling(now, t))
	}
	if c.Group > 0 && c.Group <= GroupsMax {
		if g := &b.groups[c.Group-1]; g.rate > 0 {
			wait = max(wait, b.untilAbove(now, g.balance, g.rate, 0))
		}
	}
	return wait
}

// untilAbove returns the time until a balance is above need (in millionths of an RU), if the clock adds rate at the
// beginning of each second; at most waitMax. need is below rate.
func (b *Bucket) untilAbove(now time.Time, balance, rate, need MicroRU) time.Duration {
	if balance > need {
		return 0
	}
	steps := int64((need-balance)/rate) + 1
	if steps > int64(waitMax/refillStep) {
		return waitMax
	}
	return max(time.Nanosecond, time.Duration(b.second+steps-b.origin.Unix())*time.Second-b.elapsed(now))
}

// waitMax is the longest wait that a refusal reports to a client: one day.
const waitMax = 24 * time.Hour
