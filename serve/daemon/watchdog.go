package daemon

import (
	"errors"
	"time"
)

// watchdogLeast is the least value of --watchdog, the time after which a disk that does not respond ends the server:
// no operation of a healthy disk takes that long, even under load.
const watchdogLeast = 10 * time.Second

// checkWatchdog refuses a timeout that would end a healthy server.
func (c *Config) checkWatchdog() error {
	if c.Watchdog != 0 && c.Watchdog < watchdogLeast {
		return errors.New("--watchdog is at least 10s, or 0 for none")
	}
	return nil
}
