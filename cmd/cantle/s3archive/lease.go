package s3archive

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/cantledb/cantle/storage/backup"
)

// lockName is the object whose content names the writer of an archive.
//
// A process becomes the writer by a conditional write of the object (If-None-Match, If-Match), so of several only one
// succeeds, and renews it. Another process takes over only after it has seen no renewal for a time on
// its own clock: no two clocks are compared. A writer that could not renew for half of that time stops writing by itself. Each
// takeover raises the epoch, and then the condition of the former writer's next renewal fails.
const lockName = "LOCK"

// terms are the times of a lease. What a writer has sent shortly before valid has ended has the rest of taken to arrive.
type terms struct {
	renew time.Duration // between two renewals
	valid time.Duration // after the last renewal, in which the writer may write
	taken time.Duration // without a renewal, after which another process takes over
	watch time.Duration // between two looks at the lock of another process
}

var usual = terms{renew: 5 * time.Second, valid: 15 * time.Second, taken: 30 * time.Second, watch: time.Second}

// ErrFenced: another process has taken over the archive, or the lease could not be renewed in time.
var ErrFenced = errors.New("this process writes into it no more: the lease of the archive was lost")

// holder is the content of the lock.
type holder struct {
	Epoch    uint64 `json:"epoch"` // raised by each process that takes the lock
	Renewed  uint64 `json:"renewed"`
	Owner    string `json:"owner"` // random
	Writer   string `json:"writer"`
	Released bool   `json:"released,omitempty"`
}

// lease is the right to write into an archive.
type lease struct {
	a    *archive
	ctx  context.Context // ends, with the cause ErrFenced, when the lease is lost
	lose context.CancelCauseFunc
	stop context.CancelFunc
	done chan struct{} // closed when renew has ended

	mu    sync.Mutex
	h     holder
	etag  string
	valid time.Time // until then the process may write
}

// readLock reads the lock and its entity tag. Errors: fs.ErrNotExist.
func (a *archive) readLock(ctx context.Context) (h holder, etag string, err error) {
	r := &reader{a: a, ctx: ctx, key: a.key(lockName)}
	if err := r.open(); err != nil {
		return h, "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	return h, r.etag, err
}

// writeLock writes the lock, if its entity tag is still etag; "" = it does not exist. Errors: fs.ErrExist.
func (a *archive) writeLock(ctx context.Context, h holder, etag string) (string, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return "", err
	}
	return a.put(ctx, a.key(lockName), text, func(o *minio.PutObjectOptions) {
		if etag == "" {
			o.SetMatchETagExcept("*")
		} else {
			o.SetMatchETag(etag)
		}
	})
}

// Lock implements backup.Archive. If the lock is held, it waits until it sees a renewal, which makes ErrBusy, or the
// lease runs out, because the process was killed.
func (a *archive) Lock(ctx context.Context) (io.Closer, error) {
	h, etag, err := a.awaitLock(ctx)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	begun := time.Now()
	h = holder{Epoch: h.Epoch + 1, Owner: rand.Text(), Writer: fmt.Sprintf("%s, process %d", host, os.Getpid())}
	if etag, err = a.writeLock(ctx, h, etag); errors.Is(err, fs.ErrExist) {
		return nil, a.busy("another process")
	} else if err != nil {
		return nil, err
	}
	l := &lease{a: a, h: h, etag: etag, valid: begun.Add(a.terms.valid), done: make(chan struct{})}
	l.ctx, l.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	var renewing context.Context
	renewing, l.stop = context.WithCancel(l.ctx)
	go l.renew(renewing)
	a.lease.Store(l)
	return l, nil
}

// Claim implements backup.Archive.
func (a *archive) Claim(ctx context.Context, name string, data []byte) error {
	_, err := a.put(ctx, a.key(name), data, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
	return err
}

// seizeTries is the number of attempts to take the lock from a process that renews it meanwhile, every few seconds.
const seizeTries = 5

// Seize implements backup.Archive. The next renewal of the process that has the lock fails; the lock is free at once.
func (a *archive) Seize(ctx context.Context) error {
	for n := 0; ; n++ {
		h, etag, err := a.readLock(ctx)
		if errors.Is(err, fs.ErrNotExist) || err == nil && h.Released {
			return nil
		}
		if err == nil {
			_, err = a.writeLock(ctx, holder{Epoch: h.Epoch + 1, Owner: rand.Text(), Writer: h.Writer, Released: true}, etag)
		}
		if !errors.Is(err, fs.ErrExist) || n == seizeTries {
			return err
		}
	}
}

// Sign implements backup.Archive.
func (a *archive) Sign(ctx context.Context) (string, error) {
	_, etag, err := a.readLock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return etag, err
}

// Lost returns ErrFenced if the lease was lost.
func (l *lease) Lost() error { return context.Cause(l.ctx) }

func (a *archive) busy(writer string) error {
	return fmt.Errorf("%s: %w (%s)", a.Location(), backup.ErrBusy, writer)
}

// awaitLock returns the lock when it is free or has run out. Errors: ErrBusy.
func (a *archive) awaitLock(ctx context.Context) (h holder, etag string, err error) {
	first := ""
	for begun := time.Now(); ; {
		h, etag, err = a.readLock(ctx)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return holder{}, "", nil
		case err != nil:
			return h, "", err
		case h.Released || first == etag && time.Since(begun) > a.terms.taken:
			return h, etag, nil
		case first != "" && first != etag:
			return h, "", a.busy(h.Writer)
		}
		first = etag
		select {
		case <-time.After(a.terms.watch):
		case <-ctx.Done():
			return h, "", ctx.Err()
		}
	}
}

// renew renews the lease until ctx ends.
func (l *lease) renew(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.a.terms.renew):
		}
		begun := time.Now()
		attempt, cancel := context.WithDeadline(ctx, l.validUntil())
		h, etag := l.h, l.etag // only this goroutine changes them
		h.Renewed++
		etag, err := l.a.writeLock(attempt, h, etag)
		cancel()
		switch {
		case err == nil:
			l.mu.Lock()
			l.h, l.etag, l.valid = h, etag, begun.Add(l.a.terms.valid)
			l.mu.Unlock()
		case ctx.Err() != nil:
			return
		case errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || l.expired():
			l.lose(fmt.Errorf("%s: %w (%w)", l.a.Location(), ErrFenced, err))
			return
		}
	}
}

func (l *lease) validUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.valid
}

// expired reports whether the lease has run out, also while the machine was suspended, when only its wall clock
// continues.
func (l *lease) expired() bool {
	now, until := time.Now(), l.validUntil()
	return now.After(until) || now.Round(0).After(until.Round(0))
}

// Close implements io.Closer: it releases the lock.
func (l *lease) Close() error {
	l.stop()
	<-l.done
	l.a.lease.CompareAndSwap(l, nil)
	lost := context.Cause(l.ctx)
	l.lose(context.Canceled)
	if lost != nil || l.expired() {
		return nil // it is no longer ours
	}
	ctx, cancel := context.WithDeadline(context.Background(), l.valid)
	defer cancel()
	l.h.Released = true
	_, err := l.a.writeLock(ctx, l.h, l.etag)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// fenced returns a context for a request that changes the archive: it ends when the lease is lost. Without a lease,
// which is so only before the first write, it is ctx. Errors: ErrFenced.
func (a *archive) fenced(ctx context.Context) (context.Context, context.CancelFunc, error) {
	l := a.lease.Load()
	if l == nil {
		return ctx, func() {}, nil
	}
	if l.expired() {
		l.lose(fmt.Errorf("%s: %w", a.Location(), ErrFenced))
	}
	if err := context.Cause(l.ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() { unlink(); cancel(nil) }, nil
}

// KeepsLock implements backup.Archive: taking the lock and reading the lists takes many requests.
func (a *archive) KeepsLock() bool { return true }

// Locked implements backup.Archive. It compares the clocks of this machine and of the store, so it is only a hint.
func (a *archive) Locked(ctx context.Context) bool {
	h, _, err := a.readLock(ctx)
	if err != nil || h.Released {
		return false
	}
	info, err := a.client.StatObject(ctx, a.bucket, a.key(lockName), minio.StatObjectOptions{})
	return err == nil && time.Since(info.LastModified) < time.Minute
}
