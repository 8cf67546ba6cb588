package daemon

import (
	"errors"
	"time"
)

// watchdogLeast is more than a healthy disk under load ever takes.
const watchdogLeast = 10 * time.Second

// checkWatchdog refuses a watchdog that would end a server of which nothing is wrong.
func (c *Config) checkWatchdog() error {
	if c.Watchdog != 0 && c.Watchdog < watchdogLeast {
		return errors.New("--watchdog is at least 10s, or 0 for none")
	}
	return nil
}
