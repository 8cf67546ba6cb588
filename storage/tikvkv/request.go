package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// request is one request through the client on behalf of a caller: the context that the client gets. It is cancelled
// when the caller's context ends or the timeout passes, but never has a deadline: if a deadline passes, client-go
// considers the TiKV store that was slow as dead, and avoids that store for all requests.
type request struct {
	context.Context
	caller     context.Context
	cancel     context.CancelFunc
	stop       func() bool
	timer      *time.Timer
	timedOut   atomic.Bool // the timeout has passed
	resolvable atomic.Bool // the outcome can be found in another way: the timeout is not extended
}

// beginRequest begins a request through the client, with a timeout: client-go itself retries for much longer. If the
// cluster answers other requests, though slowly, the timeout is extended, up to c.limits.most times its length,
// unless the outcome can be found in another way. The renewals of the lease show whether the cluster answers, so only timeouts longer than a lease are extended.
func (c *cluster) beginRequest(caller context.Context, timeout time.Duration) *request {
	e := &request{caller: caller}
	e.Context, e.cancel = context.WithCancel(context.WithoutCancel(caller))
	e.stop = context.AfterFunc(caller, e.cancel)
	begun, times := make(chan struct{}), 0
	e.timer = time.AfterFunc(timeout, func() {
		<-begun
		if times++; times < c.limits.most && e.Err() == nil && !e.resolvable.Load() && c.mayExtend(timeout) {
			e.timer.Reset(timeout)
			return
		}
		e.timedOut.Store(true)
		e.cancel()
	})
	close(begun)
	return e
}

// mayExtend reports whether a timeout may be extended: it is longer than a lease, and the lease was renewed
// within the length of a lease.
func (c *cluster) mayExtend(timeout time.Duration) bool {
	return timeout > c.o.Lease && c.checkReachable() == nil
}

// end releases the timer and the context of the request.
func (e *request) end() {
	e.timer.Stop()
	e.stop()
	e.cancel()
}

// fail maps an error of the client for the caller. If the caller's context has ended, fail returns that context's
// error; if the timeout has passed, ErrUnavailable. If only a context inside the client has ended, fail keeps the
// text of the error but not its value, so that the caller does not take it for a cancellation of its own command.
func (e *request) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case e.caller.Err() != nil:
		return e.caller.Err()
	case e.timedOut.Load():
		return fmt.Errorf("%w: no answer in time: %v", storage.ErrUnavailable, err)
	}
	if name := named(err); name != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%w: %v", name, err)
	}
	return translate(err)
}
