package backup

import (
	"context"
	"time"
)

// pace limits the rate of work, so that other users of the disk get their share.
type pace struct {
	tick *time.Ticker // each tick allows one step; nil = no limit
	done int64        // bytes done for which no tick was taken yet
}

// newPace creates a pace of rate bytes per second; 0 = no limit.
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

// wait returns when n bytes that are done have taken their time. A delay is not caught up later.
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
