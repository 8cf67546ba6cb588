package ratelimit

import (
	"slices"
	"sync/atomic"
	"time"
)

// RunawayAction is the effect of a default cap on a command that reaches it. The words are TiDB's, whose resource groups have such
// limits; a throughput bucket takes the place of a group.
// Source: TiDB, "tidb-resource-control-runaway-queries".
type RunawayAction uint8

// The actions. Kill ends the command with an error. DryRun counts it. CoolDown lets a read go on within a rate, and gives
// every command a low priority. SwitchBucket makes it pay from another throughput bucket from now on.
const (
	Kill RunawayAction = iota
	DryRun
	CoolDown
	SwitchBucket
	RunawayActions
)

// RunawayActionNames are the names of the actions in settings and errors, in their order.
var RunawayActionNames = []string{"kill", "dryRun", "coolDown", "switchBucket"}

// String returns the name of the action.
func (a RunawayAction) String() string { return RunawayActionNames[a] }

// RunawayActionNamed returns the action with a name, Kill for another one.
func RunawayActionNamed(name string) RunawayAction {
	return RunawayAction(max(0, slices.Index(RunawayActionNames, name)))
}

// RunawayRule is an action with its settings.
type RunawayRule struct {
	Action RunawayAction
	Bucket uint8   // of SwitchBucket, 1..GroupsMax
	Rate   MicroRU // of CoolDown, in a second
	// Counts counts the commands that reach a cap with this rule; nil for none.
	Counts *RunawayCounts
}

// RunawayCounts counts runaway commands by action. Safe for concurrent use.
type RunawayCounts [RunawayActions]atomic.Int64

// pauseMax is the longest wait between two checks of a read that is cooled down.
const pauseMax = time.Second

// Rule sets what happens at a default cap; at that of the command's argument it is Kill. onReached is called once, when the
// command reaches its cap, from any of its goroutines.
func (c *RequestCap) Rule(r RunawayRule, onReached func(*CapReached)) {
	c.then, c.onReached = r, onReached
}

// ruleAt returns the rule at a bound.
func (c *RequestCap) ruleAt(b *capBound) RunawayRule {
	switch {
	case b.rule != nil:
		return *b.rule
	case b.origin == CapOfCommand:
		return RunawayRule{}
	}
	return c.then
}

// exceeded returns the error of a command that has reached its cap, nil if it may go on.
func (c *RequestCap) exceeded(b *capBound) error {
	action := c.ruleAt(b).Action
	if action != Kill && c.reached.Load() {
		return nil
	}
	e := &CapReached{c, b}
	if c.reached.CompareAndSwap(false, true) {
		if n := c.ruleAt(b).Counts; n != nil {
			n[action].Add(1)
		}
		if c.onReached != nil {
			c.onReached(e)
		}
	}
	if action != Kill {
		return nil
	}
	c.stopped.Store(true)
	return e
}

// rule returns the rule at a cap that the command has reached; the zero rule before and without a cap.
func (c *RequestCap) rule() (r RunawayRule) {
	if c != nil && c.reached.Load() {
		r = c.ruleAt(c.bound.Load())
	}
	return r
}

// TakeReached returns the action of a command that has reached its cap; ok is true once. c may be nil.
func (c *RequestCap) TakeReached() (a RunawayAction, ok bool) {
	if c == nil || !c.reached.Load() || !c.taken.CompareAndSwap(false, true) {
		return 0, false
	}
	return c.rule().Action, true
}

// Reached returns what TakeReached will return. c may be nil.
func (c *RequestCap) Reached() (a RunawayAction, ok bool) {
	if c == nil || !c.reached.Load() || c.taken.Load() {
		return 0, false
	}
	return c.rule().Action, true
}

// Reclass changes the class of further work of a command that has reached its cap, as its action requires.
func (c *RequestCap) Reclass(class *Class) {
	switch r := c.rule(); r.Action {
	case CoolDown:
		class.Priority = max(class.Priority, Low)
	case SwitchBucket:
		class.Group = r.Bucket
	}
}

// Pause returns the time that a read which is cooled down waits before it goes on, so that it stays within the rate; 0 for
// other commands. clock returns the current time.
func (m *Meter) Pause(clock func() time.Time) time.Duration {
	if m == nil || m.limit == nil || clock == nil {
		return 0
	}
	c := m.limit
	r := c.rule()
	if r.Action != CoolDown || r.Rate <= 0 {
		return 0
	}
	now := clock().UnixNano()
	c.cooled.CompareAndSwap(0, now)
	beyond := float64(MicroRU(c.used.Load())-c.bound.Load().limit) / float64(r.Rate)
	due := time.Duration(min(beyond, 1e6) * float64(time.Second))
	return min(pauseMax, due-time.Duration(now-c.cooled.Load()))
}
