package tikvkv

import (
	"context"
	"sync"

	"github.com/cantledb/cantle/storage"
)

// lifecycle holds whether the store is open, and the goroutines that Close waits for.
type lifecycle struct {
	stop    chan struct{} // closed when the store is closed
	stopped sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// newLifecycle returns the lifecycle of an open store.
func newLifecycle() *lifecycle { return &lifecycle{stop: make(chan struct{})} }

// check returns an error if the store is closed or ctx has ended.
func (l *lifecycle) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return storage.ErrClosed
	}
	return nil
}

// background runs f in a goroutine that Close waits for. If the store is closed, background does
// not run f and returns false.
func (l *lifecycle) background(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.stopped.Go(f)
	return true
}

// untilClosed returns a context that ends when the store is closed, for background work. The caller calls end when it
// needs the context no more.
func (l *lifecycle) untilClosed() (ctx context.Context, end func()) {
	ctx, end = context.WithCancel(context.Background())
	go func() {
		select {
		case <-l.stop:
			end()
		case <-ctx.Done():
		}
	}()
	return ctx, end
}

// close marks the store as closed. It returns false if the store was closed before.
func (l *lifecycle) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	return true
}

// wait stops the goroutines and waits for them.
func (l *lifecycle) wait() {
	close(l.stop)
	l.stopped.Wait()
}
