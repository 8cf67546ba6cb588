package ratelimit

import (
	"fmt"
	"math"
	"sync/atomic"
)

// RequestCap is the maximum of request units that one command may use, with its cursor and in all its goroutines. Each
// Meter of the command reports what it has counted when it checks the cap. Safe for concurrent use.
type RequestCap struct {
	bound   atomic.Pointer[capBound]
	fixed   bool // Lower does nothing
	prices  *PriceList
	used    atomic.Int64 // reported so far, micro request units
	reached atomic.Bool  // a check has found more than the maximum
	cooled  atomic.Int64 // the time of the first Pause, in nanoseconds since 1970; 0 before
	stopped atomic.Bool  // a check has returned an error
	taken   atomic.Bool  // TakeReached has returned the action

	then      RunawayRule // for a default
	onReached func(*CapReached)
}

// capBound is a maximum, and where it was set. Immutable.
type capBound struct {
	limit  MicroRU
	origin CapOrigin
	rule   *RunawayRule // instead of that of the cap; nil for the same
}

// CapOrigin is the place where the maximum of a command was set.
type CapOrigin uint8

// The places: the command's argument, and those of a default.
const (
	CapOfCommand CapOrigin = iota
	CapOfServer
	CapOfApplication
	CapOfUser
	CapOfRole
	CapOfCollection
	CapOfDatabase
	CapOfBucket
	CapOfQuerySettings
)

// String returns the name of the place in errors.
func (o CapOrigin) String() string {
	return [...]string{"command", "server", "application", "user", "role", "collection", "database", "bucket", "querySettings"}[o]
}

// uncapped is the maximum of a command that has no default yet.
var uncapped = &capBound{limit: math.MaxInt64}

// NewRequestCap returns a cap without a maximum, by the price list that the command is charged by; nil means Normative.
func NewRequestCap(prices *PriceList) *RequestCap {
	if prices == nil {
		prices = &normative
	}
	c := &RequestCap{prices: prices}
	c.bound.Store(uncapped)
	return c
}

// Fix sets the maximum to limit for good: no default lowers it.
func (c *RequestCap) Fix(limit MicroRU) {
	c.bound.Store(&capBound{limit: limit, origin: CapOfCommand})
	c.fixed = true
}

// Lower sets the maximum to limit if it is larger. A limit of 0 is none. c may be nil.
func (c *RequestCap) Lower(limit MicroRU, origin CapOrigin) { c.lower(limit, origin, nil) }

// LowerBy is Lower with a rule of its own for that maximum.
func (c *RequestCap) LowerBy(limit MicroRU, origin CapOrigin, r RunawayRule) {
	c.lower(limit, origin, &r)
}

// lower allocates only if it sets the maximum.
func (c *RequestCap) lower(limit MicroRU, origin CapOrigin, r *RunawayRule) {
	if c == nil || c.fixed || limit <= 0 {
		return
	}
	for was := c.bound.Load(); was.limit > limit; was = c.bound.Load() {
		if c.bound.CompareAndSwap(was, &capBound{limit, origin, r}) {
			return
		}
	}
}

// Left returns what the command may still use.
func (c *RequestCap) Left() MicroRU {
	if c == nil {
		return math.MaxInt64
	}
	return c.bound.Load().limit - MicroRU(c.used.Load())
}

// entryBytes is the least that an index entry takes in its document, in bytes: an element of an array.
const entryBytes = 3

// WriteAtMost returns an upper bound of the price of storing, or of removing, a document of the given bytes with the entries of
// indexes that have so many fields together.
func (c *RequestCap) WriteAtMost(bytes, fields int) MicroRU {
	if c == nil {
		return 0
	}
	first := max(c.prices.priceFor(WriteNew, 1, false), c.prices.priceFor(WriteOld, 1, false))
	further := max(c.prices.priceFor(WriteNew+1, int64(bytes), false), c.prices.priceFor(WriteOld+1, int64(bytes), false))
	return addSaturating(addSaturating(first, further), c.prices.priceFor(TermAdded, int64(fields)*int64(bytes/entryBytes+1), false))
}

// CapReached reports whether the command was stopped at its cap.
func (m *Meter) CapReached() bool {
	return m != nil && m.limit != nil && m.limit.stopped.Load()
}

// Check returns *CapReached if more than the cap has been reported. It serves reads that have ended between two checks of
// their meters; a write that is made is not refused afterwards.
func (c *RequestCap) Check() error {
	if c == nil {
		return nil
	}
	if b := c.bound.Load(); MicroRU(c.used.Load()) > b.limit {
		return c.exceeded(b)
	}
	return nil
}

// CapReached is the error of a command that has used more request units than its cap, or would with its next write.
type CapReached struct {
	cap   *RequestCap
	bound *capBound
}

// Limit returns the cap.
func (e *CapReached) Limit() MicroRU { return e.bound.limit }

// Origin returns the place where the cap was set.
func (e *CapReached) Origin() CapOrigin { return e.bound.origin }

// Used returns what the command has used until now.
func (e *CapReached) Used() MicroRU { return MicroRU(e.cap.used.Load()) }

// Action returns what happens to the command.
func (e *CapReached) Action() RunawayAction { return e.cap.ruleAt(e.bound).Action }

// Error implements error.
func (e *CapReached) Error() string {
	return fmt.Sprintf("the command used %s RU, and may use %s", e.Used(), e.Limit())
}

// SetCap makes the meter, and all that are forked from it, count against a cap; nil for none. The caller sets it on a
// meter that has reported nothing.
func (m *Meter) SetCap(c *RequestCap) {
	if m != nil {
		m.limit = c
	}
}

// CheckCap returns *CapReached if the command has used more than its cap. Without a cap it costs one comparison.
func (m *Meter) CheckCap() error {
	if m == nil || m.limit == nil {
		return nil
	}
	return m.checkCap(0)
}

// CheckCapFor is CheckCap before work of a quantity of an item: it also returns an error if the command would then
// have used more, so that work of a fixed price, such as the write of a large document, is not begun.
func (m *Meter) CheckCapFor(i Item, quantity int64) error {
	if m == nil || m.limit == nil {
		return nil
	}
	if !m.counts(i) {
		return m.checkCap(0)
	}
	return m.checkCap(m.limit.prices.priceFor(i, quantity, m.strong))
}

// CheckCapForSized is CheckCapFor before one operation on a document of the given size; the item after base has the
// price of its further bytes.
func (m *Meter) CheckCapForSized(base Item, bytes int) error {
	if m == nil || m.limit == nil {
		return nil
	}
	if !m.counts(base) {
		return m.checkCap(0)
	}
	p := m.limit.prices
	return m.checkCap(addSaturating(p.priceFor(base, 1, m.strong), p.priceFor(base+1, max(0, int64(bytes)-p.FirstBytes), m.strong)))
}

// CheckCapForTerms is CheckCapFor for index entries of one document that have been written and removed, and are not counted
// yet.
func (m *Meter) CheckCapForTerms(added, removed int64) error {
	if m == nil || m.limit == nil {
		return nil
	}
	p := m.limit.prices
	return m.checkCap(addSaturating(p.priceFor(TermAdded, added, m.strong), p.priceFor(TermRemoved, removed, m.strong)))
}

// checkCap reports the work since the last report, and compares the sum of all meters, and next, with the cap.
func (m *Meter) checkCap(next MicroRU) error {
	total := m.totalForCap()
	used := MicroRU(m.limit.used.Add(int64(total - m.reported)))
	m.reported = total
	if b := m.limit.bound.Load(); addSaturating(used, next) > b.limit {
		return m.limit.exceeded(b)
	}
	return nil
}

// totalForCap is Total by the price list of the cap: the meter of a running statement has no list yet.
func (m *Meter) totalForCap() MicroRU {
	own := m.prices
	m.prices = m.limit.prices
	total := m.Total()
	m.prices = own
	return total
}

// Charged reports to the cap all that the meter has counted, for good: the Reset that follows does not take it back.
func (m *Meter) Charged() {
	if m != nil && m.limit != nil {
		m.limit.used.Add(int64(m.totalForCap() - m.reported))
		m.reported = 0
	}
}

// uncount takes back what the meter has reported and is not charged.
func (m *Meter) uncount() {
	if m.limit != nil {
		m.limit.used.Add(-int64(m.reported))
		m.limit = nil
	}
	m.reported = 0
}
