package ratelimit

import (
	"time"
)

// RunawayAction is what happens to a command that reaches a default cap. The words are TiDB's, whose resource groups have such
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

// String returns the name of the action in settings and errors.
func (a RunawayAction) String() string {
	return [...]string{"kill", "dryRun", "coolDown", "switchBucket"}[a]
}

// RunawayActionNamed returns the action with a name.
func RunawayActionNamed(name string) RunawayAction {
	for a := range RunawayActions {
		if a.String() == name {
			return a
		}
	}
	return Kill
}

// RunawayRule is an action with its settings.
type RunawayRule struct {
	Action RunawayAction
	Bucket uint8   // of SwitchBucket, 1..GroupsMax
	Rate   MicroRU // of CoolDown, in a second
}

// pauseMax is the longest wait between two checks of a read that is cooled down.
const pauseMax = time.Second

// Rule sets what happens at a default cap; at that of the command's argument it is Kill. onReached is called once, when the
// command reaches its cap, from any of its goroutines.
func (c *RequestCap) Rule(r RunawayRule, onReached func(*CapReached)) {
	c.then, c.onReached = r, onReached
}

// actionAt returns the action at a bound.
func (c *RequestCap) actionAt(b *capBound) RunawayAction {
	if b.origin == CapOfCommand {
		return Kill
	}
	return c.then.Action
}

// exceeded returns the error of a command that has reached its cap, nil if it may go on.
func (c *RequestCap) exceeded(b *capBound) error {
	action := c.actionAt(b)
	if action != Kill && c.reached.Load() != 0 {
		return nil
	}
	e := &CapReached{c, b}
	if c.reached.CompareAndSwap(0, time.Now().UnixNano()) && c.onReached != nil {
		c.onReached(e)
	}
	if action != Kill {
		return nil
	}
	c.stopped.Store(true)
	return e
}

// rule returns the action of a cap that the command has reached, if it may go on; false before and without a cap.
func (c *RequestCap) rule() (RunawayRule, bool) {
	if c == nil || c.reached.Load() == 0 || c.actionAt(c.bound.Load()) == Kill {
		return RunawayRule{}, false
	}
	return c.then, true
}

// Reclass changes the class of further work of a command that has reached its cap, as its action requires.
func (c *RequestCap) Reclass(class *Class) {
	switch r, _ := c.rule(); r.Action {
	case CoolDown:
		class.Priority = max(class.Priority, Low)
	case SwitchBucket:
		class.Group = r.Bucket
	}
}

// Pause returns the time that a read which is cooled down waits before it goes on, so that it stays within the rate; 0 for
// other commands.
func (m *Meter) Pause() time.Duration {
	if m == nil || m.limit == nil {
		return 0
	}
	c := m.limit
	r, _ := c.rule()
	if r.Action != CoolDown || r.Rate <= 0 {
		return 0
	}
	beyond := float64(MicroRU(c.used.Load())-c.bound.Load().limit) / float64(r.Rate)
	due := time.Duration(min(beyond, 1e6) * float64(time.Second))
	return min(pauseMax, due-time.Duration(time.Now().UnixNano()-c.reached.Load()))
}
