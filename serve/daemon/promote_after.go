package daemon

import (
	"context"
	"time"
)

// promoteAfterMin is the least time for --promote-after: that after which another process may take a lease that is not renewed.
const promoteAfterMin = 30 * time.Second

// signEvery is the interval at which a server looks at the lease of the one that it follows.
const signEvery = 2 * time.Second

// promoteWhenAlone makes this server the primary when the lease of the followed one was not renewed for the time of
// --promote-after, on this machine's clock. Times in which the lease could not be read do not count.
func (d *Daemon) promoteWhenAlone(ctx context.Context) {
	look := time.NewTicker(signEvery)
	defer look.Stop()
	last, since := "", time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.startAgain: // promoted by a command
			return
		case <-look.C:
		}
		begun := time.Now()
		sign, err := d.follower.Sign(ctx)
		if err != nil || sign != last || time.Since(begun) > signEvery { // a slow answer may be old
			last, since = sign, time.Now()
			continue
		}
		if time.Since(since) < d.cfg.PromoteAfter {
			continue
		}
		d.log.Warn().Str("for", time.Since(since).Round(time.Second).String()).Msg("the followed server has not renewed its lease")
		if d.promote(ctx) == nil { // the error is logged
			return
		}
		since = time.Now()
	}
}
