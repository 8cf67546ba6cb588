package backup

import (
	"context"
	"time"
)

// pace limits the rate of copying, so that other users of the disk get their share.
type pace struct {
	tick *time.Ticker // each tick allows one copyStep of bytes; nil = no limit
	done int64        // bytes copied for which no tick was taken yet
}

// newPace creates a limit of rate bytes per second; 0 = no limit.
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

// wait blocks after n more bytes were copied, until the rate permits them. Of the time lost by a slow disk, at most one
// step is caught up later. Errors: the cause of the context.
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
