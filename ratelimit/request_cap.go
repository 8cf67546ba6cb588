package ratelimit

import (
	"fmt"
	"sync/atomic"
)

// RequestCap is the maximum of request units that one command may use, with its cursor and in all its goroutines. Each
// Meter of the command reports what it has counted when it checks the cap. Safe for concurrent use.
type RequestCap struct {
	limit   MicroRU
	prices  *PriceList
	used    atomic.Int64 // reported so far, micro request units
	stopped atomic.Bool  // a check has returned an error
}

// NewRequestCap returns a cap of limit, by the price list that the command is charged by; nil means Normative.
func NewRequestCap(limit MicroRU, prices *PriceList) *RequestCap {
	if prices == nil {
		prices = &normative
	}
	return &RequestCap{limit: limit, prices: prices}
}

// CapReached reports whether the command was stopped at its cap.
func (m *Meter) CapReached() bool {
	return m != nil && m.limit != nil && m.limit.stopped.Load()
}

// Check returns *CapReached if more than the cap has been reported. It serves reads that have ended between two checks of
// their meters; a write that is made is not refused afterwards.
func (c *RequestCap) Check() error {
	if c == nil || MicroRU(c.used.Load()) <= c.limit {
		return nil
	}
	return &CapReached{c}
}

// CapReached is the error of a command that has used more request units than its cap, or would with its next write.
type CapReached struct{ limit *RequestCap }

// Limit returns the cap.
func (e *CapReached) Limit() MicroRU { return e.limit.limit }

// Used returns what the command has used until now.
func (e *CapReached) Used() MicroRU { return MicroRU(e.limit.used.Load()) }

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
	return m.checkCap(m.limit.prices.priceFor(i, quantity, m.strong))
}

// CheckCapForSized is CheckCapFor before one operation on a document of the given size; the item after base has the
// price of its further bytes.
func (m *Meter) CheckCapForSized(base Item, bytes int) error {
	if m == nil || m.limit == nil {
		return nil
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
	if addSaturating(used, next) > m.limit.limit {
		m.limit.stopped.Store(true)
		return &CapReached{m.limit}
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
