package console

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// sharedAge is the time for which an answer is given to other requests of the same user.
	sharedAge = time.Second
	// sharedMax is the number of answers that are kept; with more, each request gets its own.
	sharedMax = 64
	// sharedTime is the timeout of an answer that is made for several requests.
	sharedTime = 30 * time.Second
	// sharedArgsMax is the length of the arguments in bytes, above which an answer is not kept.
	sharedArgsMax = 64
)

// sharedAnswers keeps answers that are expensive to make for a second, so that several browsers of one user, which
// request the same every few seconds, share one. The zero sharedAnswers is ready. Safe for concurrent use.
type sharedAnswers struct {
	mu   sync.Mutex
	list map[sharedKey]*sharedAnswer
}

// sharedKey identifies an answer: users with other privileges get another one.
type sharedKey struct {
	user    string
	version uint64 // of users and roles
	args    string
}

// sharedAnswer is one answer. The fields after ready are set when it is closed.
type sharedAnswer struct {
	begun time.Time
	ready chan struct{}
	text  json.RawMessage
	err   error
}

// get returns the answer with a key that was begun less than sharedAge before now, and waits for it if it is being
// made. Otherwise it calls make. Answers with an error are not kept.
// Errors: the errors of make, the error of ctx.
func (x *sharedAnswers) get(ctx context.Context, key sharedKey, now time.Time, make func() (any, error)) (json.RawMessage, error) {
	x.mu.Lock()
	a := x.list[key]
	if a != nil && now.Sub(a.begun) < sharedAge {
		x.mu.Unlock()
		select {
		case <-a.ready:
			return a.text, a.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	a = x.begin(key, now)
	x.mu.Unlock()
	done := false
	defer func() {
		if !done || a.err != nil { // an error, or a panic of make
			x.mu.Lock()
			if x.list[key] == a {
				delete(x.list, key)
			}
			x.mu.Unlock()
		}
		if !done {
			a.err = context.Canceled
		}
		close(a.ready)
	}()
	var out any
	if out, a.err = make(); a.err == nil {
		a.text, a.err = json.Marshal(out)
	}
	done = true
	return a.text, a.err
}

// begin adds an answer that is to be made. The caller holds the mutex.
func (x *sharedAnswers) begin(key sharedKey, now time.Time) *sharedAnswer {
	a := &sharedAnswer{begun: now, ready: make(chan struct{})}
	if x.list == nil {
		x.list = map[sharedKey]*sharedAnswer{}
	}
	if len(x.list) >= sharedMax {
		for k, old := range x.list {
			if now.Sub(old.begun) >= sharedAge {
				delete(x.list, k)
			}
		}
	}
	if len(x.list) < sharedMax {
		x.list[key] = a
	}
	return a
}

// shared returns the answer that answer makes, or one that it has made for the same user and arguments within the last
// second. args are the arguments that the answer depends on. While the clock of the server is stopped, for tests,
// nothing is kept.
func (q *query) shared(args string, answer func(*query) (any, error)) (any, error) {
	if len(args) > sharedArgsMax || q.Server.Cluster.Budgets.Clock.Stopped() {
		return answer(q)
	}
	key := sharedKey{args: q.Request.URL.Path + " " + args}
	if in := q.conn.login(); in != nil {
		key.user, key.version = in.Name.String(), q.Server.Auth.Version()
	}
	return q.answers.get(q.Context(), key, time.Now(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), sharedTime) // others may wait for it
		defer cancel()
		of := *q
		of.Request = q.Request.WithContext(ctx)
		return answer(&of)
	})
}
