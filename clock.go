package cantle

import (
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// Clock is the clock by which a server's budgets, expiry and $$NOW work. It follows the machine's clock until it is
// stopped. While it is stopped, a request that waits for request units does not really wait: it advances the clock by
// the time that it would have waited.
type Clock struct{ clock *ratelimit.VirtualClock }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return c.clock.Now() }

// Stop stops the clock at the beginning of a second, and returns the time at which it stands.
func (c *Clock) Stop() time.Time { return c.clock.Stop() }

// Advance moves the clock forward, stopped or not, and returns its new time.
func (c *Clock) Advance(d time.Duration) time.Time { return c.clock.Advance(d) }

// Run restarts a stopped clock. It never goes back.
func (c *Clock) Run() { c.clock.Run() }
