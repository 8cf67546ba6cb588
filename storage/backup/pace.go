package backup

import (
	"context"
	"time"
)

// pace spreads work over time, so that others get their share of the disk.
type pace struct {
	tick *time.Ticker // one step may be done for each; nil = no limit
	done int64        // bytes that no tick was taken for
}

// newPace makes a pace of so many bytes per second, 0 for one without a limit.
func newPace(rate int64) *pace {
	if rate <= 0 {
		return &pace{}
	}
	return &pace{tick: time.NewTicker(max(time.Duration(float64(time.Second)*copyStep/float64(rate)), 1))}
}

func (p *pace) stop() {
	if p.tick != nil {
		p.tick.Stop()
	}
}

// wait returns when n bytes that are done have taken their time. What took longer is not made up for.
// Errors: the context's.
func (p *pace) wait(ctx context.Context, n int64) error {
	if p == nil || p.tick == nil {
		return nil
	}
	for p.done += n; p.done >= copyStep; p.done -= copyStep {
		select {
		case <-p.tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
