package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Topic is touched when there is a new call.
const Topic = "survey"

const (
	// timeout is the timeout of a call.
	timeout = 2 * time.Second
	// pollFirst is the interval of the first looks for answers. After firstPolls looks, when probably a peer
	// is stalled, the interval is pollLater.
	pollFirst  = 10 * time.Millisecond
	pollLater  = 50 * time.Millisecond
	firstPolls = 40
	// abandonedSeconds is the age at which rows of a caller that died are removed.
	abandonedSeconds = 60 // seconds
	// callsMax is the number of calls of this server that run at once, handlersMax the number of calls that
	// it answers at once.
	callsMax    = 8
	handlersMax = 4
	// queueMax is the length of the queue of calls of peers; calls beyond it are not answered.
	queueMax = 64
	// answerMax is the maximum size of an answer, errorMax that of an error, in bytes.
	answerMax = 4 << 20
	errorMax  = 1 << 10
)

// Config holds the parameters of Calls.
type Config struct {
	Store storage.Shared
	// Follow registers load, to be called when peers touch a topic.
	Follow func(topic string, load func(ctx context.Context, r storage.Reader) error)
	// Name returns the name of a peer for people.
	Name func(storage.Member) string
	// Failed receives errors of this server, and the errors that peers sent instead of an answer.
	Failed func(error)
}

// Calls calls the peers of a server, and answers their calls. A nil *Calls belongs to a server without peers.
type Calls struct {
	Config
	callSlots chan struct{}
	queue     chan call

	mu       sync.Mutex
	handlers map[string]func(ctx context.Context, body []byte) ([]byte, error)
	queued   map[callID]bool // calls in the store that this server has queued
	last     storage.Timestamp
}

// call is a call of a peer.
type call struct {
	callID
	kind string
	body []byte
}

// Answer is the answer of a peer.
type Answer struct {
	Member storage.MemberID
	Host   string
	Body   []byte
}

// New returns Calls without functions for answers. Run must be called.
func New(c Config) *Calls {
	d := &Calls{Config: c, callSlots: make(chan struct{}, callsMax), queue: make(chan call, queueMax),
		handlers: map[string]func(context.Context, []byte) ([]byte, error){}, queued: map[callID]bool{}}
	c.Follow(Topic, d.load)
	return d
}

// Handle sets the function that answers calls of a kind. At most handlersMax functions run at once, and a
// result may have at most 4 MiB. If a server has no function for a kind, it answers with an error and counts
// as silent.
func (d *Calls) Handle(kind string, fn func(ctx context.Context, body []byte) ([]byte, error)) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handlers[kind] = fn
}

// Call calls all peers with a valid lease, and waits at most two seconds for their answers. silent lists the
// names of peers that did not answer or failed. Without peers it returns at once.
// Errors: those of the store; ctx.Err().
func (d *Calls) Call(ctx context.Context, kind string, body []byte) (answers []Answer, silent []string, err error) {
	if d == nil {
		return nil, nil, nil
	}
	select {
	case d.callSlots <- struct{}{}:
		defer func() { <-d.callSlots }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	now, list, err := d.Store.Members(ctx)
	if err != nil {
		return nil, nil, err
	}
	owing := map[storage.MemberID]string{}
	for _, m := range list {
		if m.ID != d.Store.Member() {
			owing[m.ID] = d.Name(m)
		}
	}
	if len(owing) == 0 {
		return nil, nil, nil
	}
	t := d.newCallID(now)
	if err := d.post(ctx, call{t, kind, body}); err != nil {
		return nil, nil, err
	}
	defer d.withdraw(context.WithoutCancel(ctx), t)
	answers, err = d.await(ctx, t, owing)
	for _, a := range answers {
		delete(owing, a.Member)
	}
	for _, host := range owing {
		silent = append(silent, host)
	}
	slices.Sort(silent)
	return answers, silent, err
}

// newCallID returns a unique ID for a new call.
func (d *Calls) newCallID(now storage.Timestamp) callID {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(now, d.last+1)
	return callID{d.Store.Member(), d.last}
}

// await reads answers until all peers in owing have answered, or until the timeout.
func (d *Calls) await(ctx context.Context, t callID, owing map[storage.MemberID]string) (answers []Answer, err error) {
	over := time.NewTimer(timeout)
	defer over.Stop()
	answered := map[storage.MemberID]bool{}
	for look := 0; len(answered) < len(owing); look++ {
		pause := pollFirst
		if look >= firstPolls {
			pause = pollLater
		}
		select {
		case <-time.After(pause):
		case <-over.C:
			return answers, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		found, err := d.read(ctx, t)
		if err != nil {
			return nil, err
		}
		for by, row := range found {
			host, asked := owing[by]
			if !asked || answered[by] {
				continue
			}
			answered[by] = true
			body, refused := decodeAnswer(row)
			if refused != nil {
				d.Failed(fmt.Errorf("the server %s: %w", host, refused))
				continue
			}
			answers = append(answers, Answer{by, host, body})
		}
	}
	return answers, nil
}

// read reads the rows of all answers to a call.
func (d *Calls) read(ctx context.Context, t callID) (map[storage.MemberID][]byte, error) {
	r, err := d.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows := map[storage.MemberID][]byte{}
	err = each(ctx, r, t.answerRange(), func(_ callID, by storage.MemberID, value []byte) error {
		rows[by] = bytes.Clone(value)
		return nil
	})
	return rows, err
}

// change changes rows, also on a disk that is almost full.
func (d *Calls) change(ctx context.Context, fn func(t storage.Txn) error) error {
	return storage.Update(ctx, d.Store, storage.TxnOptions{Essential: true}, storage.Buffered, fn)
}

// post writes a call, and removes the rows of callers that have died.
func (d *Calls) post(ctx context.Context, q call) error {
	return d.change(ctx, func(t storage.Txn) error {
		err := remove(ctx, t, keyspace.MetaRange(keyspace.MetaSurvey), func(of callID) bool { return of.sentAt.Seconds()+abandonedSeconds < q.sentAt.Seconds() })
		if err != nil {
			return err
		}
		if err := t.Set(q.callKey(), append(append([]byte(q.kind), 0), q.body...)); err != nil {
			return err
		}
		return keyspace.TouchTopic(ctx, d.Store, t, Topic)
	})
}

// withdraw removes a call and its answers. An answer that is written at the same time is removed later with
// the rows that are older than abandonedSeconds.
func (d *Calls) withdraw(ctx context.Context, q callID) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := d.change(ctx, func(t storage.Txn) error {
		if err := t.Delete(q.callKey()); err != nil {
			return err
		}
		return remove(ctx, t, q.answerRange(), func(callID) bool { return true })
	})
	d.report(ctx, err)
}

// load queues new calls of peers. It is called with a snapshot that contains them.
func (d *Calls) load(ctx context.Context, r storage.Reader) error {
	now := r.ReadTimestamp().Seconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	there := map[callID]bool{}
	err := each(ctx, r, keyspace.MetaPrefixRange(keyspace.MetaSurvey, []byte{callRows}), func(t callID, _ storage.MemberID, value []byte) error {
		if t.caller == d.Store.Member() || t.sentAt.Seconds()+abandonedSeconds < now {
			return nil
		}
		if !d.queued[t] {
			kind, body, _ := bytes.Cut(value, []byte{0})
			select {
			case d.queue <- call{t, string(kind), bytes.Clone(body)}:
			default: // this server counts as silent
			}
		}
		there[t] = true
		return nil
	})
	if err == nil {
		d.queued = there
	}
	return err
}

// Run answers calls until ctx ends.
func (d *Calls) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range handlersMax {
		all.Go(func() {
			for {
				select {
				case q := <-d.queue:
					d.report(ctx, d.reply(ctx, q))
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// reply writes the answer to a call, if the call is still there.
func (d *Calls) reply(ctx context.Context, q call) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d.mu.Lock()
	fn := d.handlers[q.kind]
	d.mu.Unlock()
	body, err := []byte(nil), error(fmt.Errorf("it does not know questions of the kind %q", q.kind))
	if fn != nil {
		body, err = fn(ctx, q.body)
	}
	row := encodeAnswer(body, err)
	return d.change(ctx, func(t storage.Txn) error {
		if _, err := t.Get(ctx, q.callKey(), nil); err != nil {
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		}
		return t.Set(q.answerKey(d.Store.Member()), row)
	})
}

// report passes on an error, unless the server is stopping.
func (d *Calls) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		d.Failed(fmt.Errorf("questions between servers over one store: %w", err))
	}
}
