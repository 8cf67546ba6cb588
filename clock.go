package cantle

import (
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// Clock is what budgets, expiry and $$NOW of a server go by. It goes with the machine's
// until it is stopped. While it stands still, who waits for request units moves it on by
// as much as he would have waited.
type Clock struct{ clock *ratelimit.VirtualClock }

// Now is the clock's time.
func (c *Clock) Now() time.Time { return c.clock.Now() }

// Stop makes the clock stand still, at the beginning of a second, and returns its time.
func (c *Clock) Stop() time.Time { return c.clock.Stop() }

// Advance moves the clock on, stopped or not, and returns its new time.
func (c *Clock) Advance(d time.Duration) time.Time { return c.clock.Advance(d) }

// Run lets a stopped clock go again. It never goes back.
func (c *Clock) Run() { c.clock.Run() }
