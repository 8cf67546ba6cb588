package peers

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

// callTopic is touched when there is a new call.
const callTopic = "survey"

const (
	// callTimeout is the timeout of a call.
	callTimeout = 2 * time.Second
	// pollFirst is the interval of the first looks for answers. After firstPolls looks, when probably a peer
	// is stalled, the interval is pollLater.
	pollFirst  = 10 * time.Millisecond
	pollLater  = 50 * time.Millisecond
	firstPolls = 40
	// abandonedSeconds is the age at which rows that no caller has removed are removed.
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

// CallsConfig holds the parameters of Calls.
type CallsConfig struct {
	Store storage.Store
	// Follow registers load, to be called when peers touch a topic.
	Follow func(topic string, load func(ctx context.Context, r storage.Reader) error)
	// Name returns the name of a peer for people.
	Name func(storage.Member) string
	// Failed receives errors of this server, and the errors that peers sent instead of an answer.
	Failed func(error)
}

// Calls calls the peers of a server, and answers the calls of peers to this server.
type Calls struct {
	CallsConfig
	members   storage.Membership
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

// NewCalls returns Calls without functions for answers. Run must be called if the store can have peers.
func NewCalls(config CallsConfig) *Calls {
	c := &Calls{CallsConfig: config, members: storage.MembershipOf(config.Store), callSlots: make(chan struct{}, callsMax), queue: make(chan call, queueMax),
		handlers: map[string]func(context.Context, []byte) ([]byte, error){}, queued: map[callID]bool{}}
	c.Follow(callTopic, c.load)
	return c
}

// Handle sets the function that answers calls of a kind. At most handlersMax functions run at once, and a
// result may have at most 4 MiB. If a server has no function for a kind, it answers with an error and counts
// as unreachable.
func (c *Calls) Handle(kind string, fn func(ctx context.Context, body []byte) ([]byte, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[kind] = fn
}

// Call calls all peers with a valid lease, and waits at most two seconds for their answers. unreachable lists the
// names of peers that did not answer or failed. Without peers it returns at once. Errors: errors of the store;
// ctx.Err().
func (c *Calls) Call(ctx context.Context, kind string, body []byte) (answers []Answer, unreachable []string, err error) {
	select {
	case c.callSlots <- struct{}{}:
		defer func() { <-c.callSlots }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	now, list, err := c.members.Members(ctx)
	if err != nil {
		return nil, nil, err
	}
	pending := map[storage.MemberID]string{}
	for _, m := range list {
		if m.ID != c.members.Member() {
			pending[m.ID] = c.Name(m)
		}
	}
	if len(pending) == 0 {
		return nil, nil, nil
	}
	id := c.newCallID(now)
	if err := c.post(ctx, call{id, kind, body}); err != nil {
		return nil, nil, err
	}
	defer c.withdraw(context.WithoutCancel(ctx), id)
	answers, err = c.await(ctx, id, pending)
	for _, a := range answers {
		delete(pending, a.Member)
	}
	for _, host := range pending {
		unreachable = append(unreachable, host)
	}
	slices.Sort(unreachable)
	return answers, unreachable, err
}

// newCallID returns a unique ID for a new call.
func (c *Calls) newCallID(now storage.Timestamp) callID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(now, c.last+1)
	return callID{c.members.Member(), c.last}
}

// await reads answers until all peers in pending have answered, or until the timeout.
func (c *Calls) await(ctx context.Context, id callID, pending map[storage.MemberID]string) (answers []Answer, err error) {
	over := time.NewTimer(callTimeout)
	defer over.Stop()
	answered := map[storage.MemberID]bool{}
	for look := 0; len(answered) < len(pending); look++ {
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
		found, err := c.read(ctx, id)
		if err != nil {
			return nil, err
		}
		for by, row := range found {
			host, asked := pending[by]
			if !asked || answered[by] {
				continue
			}
			answered[by] = true
			body, refused := decodeAnswer(row)
			if refused != nil {
				c.Failed(fmt.Errorf("the server %s: %w", host, refused))
				continue
			}
			answers = append(answers, Answer{by, host, body})
		}
	}
	return answers, nil
}

// read reads the rows of all answers to a call.
func (c *Calls) read(ctx context.Context, id callID) (map[storage.MemberID][]byte, error) {
	r, err := c.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows := map[storage.MemberID][]byte{}
	err = eachCallRow(ctx, r, id.answerRange(), func(_ callID, by storage.MemberID, value []byte) error {
		rows[by] = bytes.Clone(value)
		return nil
	})
	return rows, err
}

// change runs fn in a transaction that changes rows of calls and answers, also on a disk that is almost full.
func (c *Calls) change(ctx context.Context, fn func(t storage.Txn) error) error {
	return storage.Update(ctx, c.Store, storage.TxnOptions{Essential: true}, storage.Buffered, fn)
}

// post writes a call, and removes rows older than abandonedSeconds: those of callers that have died, and late answers.
func (c *Calls) post(ctx context.Context, q call) error {
	return c.change(ctx, func(t storage.Txn) error {
		err := removeCallRows(ctx, t, keyspace.MetaRange(keyspace.MetaSurvey), func(id callID) bool { return id.sentAt.Seconds()+abandonedSeconds < q.sentAt.Seconds() })
		if err != nil {
			return err
		}
		if err := t.Set(q.callKey(), append(append([]byte(q.kind), 0), q.body...)); err != nil {
			return err
		}
		return keyspace.TouchTopic(ctx, c.Store, t, callTopic)
	})
}

// withdraw removes a call and its answers. An answer that is written at the same time is removed later with
// the rows that are older than abandonedSeconds.
func (c *Calls) withdraw(ctx context.Context, id callID) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.change(ctx, func(t storage.Txn) error {
		if err := t.Delete(id.callKey()); err != nil {
			return err
		}
		return removeCallRows(ctx, t, id.answerRange(), func(callID) bool { return true })
	})
	c.report(ctx, err)
}

// load queues the calls of peers that are new in the state of r, so that Run answers them. It is called after peers
// have touched callTopic.
func (c *Calls) load(ctx context.Context, r storage.Reader) error {
	now := r.ReadTimestamp().Seconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	current := map[callID]bool{}
	err := eachCallRow(ctx, r, keyspace.MetaPrefixRange(keyspace.MetaSurvey, []byte{callRows}), func(id callID, _ storage.MemberID, value []byte) error {
		if id.caller == c.members.Member() || id.sentAt.Seconds()+abandonedSeconds < now {
			return nil
		}
		if !c.queued[id] {
			kind, body, _ := bytes.Cut(value, []byte{0})
			select {
			case c.queue <- call{id, string(kind), bytes.Clone(body)}:
			default: // this server counts as unreachable
			}
		}
		current[id] = true
		return nil
	})
	if err == nil {
		c.queued = current
	}
	return err
}

// Run answers calls until ctx ends.
func (c *Calls) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range handlersMax {
		all.Go(func() {
			for {
				select {
				case q := <-c.queue:
					c.report(ctx, c.reply(ctx, q))
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// reply writes the answer to a call, if the call is still there.
func (c *Calls) reply(ctx context.Context, q call) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c.mu.Lock()
	fn := c.handlers[q.kind]
	c.mu.Unlock()
	body, err := []byte(nil), error(fmt.Errorf("it does not know questions of the kind %q", q.kind))
	if fn != nil {
		body, err = fn(ctx, q.body)
	}
	row := encodeAnswer(body, err)
	return c.change(ctx, func(t storage.Txn) error {
		if _, err := t.Get(ctx, q.callKey(), nil); err != nil {
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		}
		return t.Set(q.answerKey(c.members.Member()), row)
	})
}

// report passes on an error, unless the server is stopping.
func (c *Calls) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		c.Failed(fmt.Errorf("questions between servers over one store: %w", err))
	}
}
