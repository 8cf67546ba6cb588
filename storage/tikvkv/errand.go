package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// errand is one call of the client for a caller: the context that the client gets. It ends
// when the caller's ends, but never has a deadline: the client takes one that has passed for
// a store that is dead, and then avoids that store for everybody.
type errand struct {
	context.Context
	caller context.Context
	cancel context.CancelFunc
	stop   func() bool
	timer  *time.Timer
	late   atomic.Bool // the patience was at its end
	doubt  atomic.Bool // what is waited for can be asked about otherwise: the patience is not prolonged
}

// errand begins a call of the client, which is given up after a while: by itself the client
// tries for longer than anybody waits. From a cluster that answers others, if slowly, the answer is
// waited for some times as long, unless it can be had otherwise; whether the cluster answers others
// is known after the time of a lease.
func (s *store) errand(caller context.Context, patience time.Duration) *errand {
	e := &errand{caller: caller}
	e.Context, e.cancel = context.WithCancel(context.WithoutCancel(caller))
	e.stop = context.AfterFunc(caller, e.cancel)
	begun, times := make(chan struct{}), 0
	e.timer = time.AfterFunc(patience, func() {
		<-begun
		if times++; times < s.limits.most && e.Err() == nil && !e.doubt.Load() && s.alive(patience) {
			e.timer.Reset(patience)
			return
		}
		e.late.Store(true)
		e.cancel()
	})
	close(begun)
	return e
}

// alive reports that the cluster has answered others for as long as this.
func (s *store) alive(patience time.Duration) bool { return patience > s.o.Lease && s.Away() == nil }

// end gives back what the errand took.
func (e *errand) end() {
	e.timer.Stop()
	e.stop()
	e.cancel()
}

// fail is an error of the client as the caller sees it: its own if its context ended. Where it did not, a
// context of the client has, which is told in words only: a caller would take it for his command's, which
// nobody has interrupted.
func (e *errand) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case e.caller.Err() != nil:
		return e.caller.Err()
	case e.late.Load():
		return fmt.Errorf("%w: no answer in time: %v", storage.ErrUnavailable, err)
	}
	if name := named(err); name != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%w: %v", name, err)
	}
	return translate(err)
}
