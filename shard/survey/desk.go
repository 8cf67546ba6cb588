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
	// patience is the timeout of a call.
	patience = 2 * time.Second
	// lookFirst is the interval of the first looks for answers. After firstOnes looks, when probably a peer
	// is stalled, the interval is lookLater.
	lookFirst = 10 * time.Millisecond
	lookLater = 50 * time.Millisecond
	firstOnes = 40
	// leftOver is the age at which rows of a caller that died are removed.
	leftOver = 60 // seconds
	// askingMax is the number of calls of this server that run at once, answeringMax the number of calls that
	// it answers at once.
	askingMax    = 8
	answeringMax = 4
	// waitingMax is the length of the queue of calls of peers; calls beyond it are not answered.
	waitingMax = 64
	// answerMax is the maximum size of an answer, errorMax that of an error, in bytes.
	answerMax = 4 << 20
	errorMax  = 1 << 10
)

// Config holds the parameters of a Desk.
type Config struct {
	Store storage.Shared
	// Follow registers load, to be called when peers touch a topic.
	Follow func(topic string, load func(ctx context.Context, r storage.Reader) error)
	// Name returns the name of a peer for people.
	Name func(storage.Member) string
	// Failed receives errors of this server, and the errors that peers sent instead of an answer.
	Failed func(error)
}

// Desk calls the peers of a server, and answers their calls. A nil Desk belongs to a server without peers.
type Desk struct {
	Config
	asking chan struct{}
	work   chan question

	mu    sync.Mutex
	kinds map[string]func(ctx context.Context, body []byte) ([]byte, error)
	heard map[ticket]bool // calls in the store that this server has queued
	last  storage.Timestamp
}

// question is a call of a peer.
type question struct {
	ticket
	kind string
	body []byte
}

// Answer is the answer of a peer.
type Answer struct {
	Member storage.MemberID
	Host   string
	Body   []byte
}

// New returns a Desk without functions for answers. Run must be called.
func New(c Config) *Desk {
	d := &Desk{Config: c, asking: make(chan struct{}, askingMax), work: make(chan question, waitingMax),
		kinds: map[string]func(context.Context, []byte) ([]byte, error){}, heard: map[ticket]bool{}}
	c.Follow(Topic, d.load)
	return d
}

// Answer sets the function that answers calls of a kind. At most answeringMax functions run at once, and a
// result may have at most 4 MiB. If a server has no function for a kind, it answers with an error and counts
// as silent.
func (d *Desk) Answer(kind string, fn func(ctx context.Context, body []byte) ([]byte, error)) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kinds[kind] = fn
}

// Ask calls all peers with a valid lease, and waits at most two seconds for their answers. silent lists the
// names of peers that did not answer or failed. Without peers it returns at once.
// Errors: those of the store; ctx.Err().
func (d *Desk) Ask(ctx context.Context, kind string, body []byte) (answers []Answer, silent []string, err error) {
	if d == nil {
		return nil, nil, nil
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
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
	t := d.ticket(now)
	if err := d.post(ctx, question{t, kind, body}); err != nil {
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

// ticket returns a unique ticket for a new call.
func (d *Desk) ticket(now storage.Timestamp) ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(now, d.last+1)
	return ticket{d.Store.Member(), d.last}
}

// await reads answers until all peers in owing have answered, or until the timeout.
func (d *Desk) await(ctx context.Context, t ticket, owing map[storage.MemberID]string) (answers []Answer, err error) {
	over := time.NewTimer(patience)
	defer over.Stop()
	answered := map[storage.MemberID]bool{}
	for look := 0; len(answered) < len(owing); look++ {
		pause := lookFirst
		if look >= firstOnes {
			pause = lookLater
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
func (d *Desk) read(ctx context.Context, t ticket) (map[storage.MemberID][]byte, error) {
	r, err := d.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows := map[storage.MemberID][]byte{}
	err = each(ctx, r, t.answerRange(), func(_ ticket, by storage.MemberID, value []byte) error {
		rows[by] = bytes.Clone(value)
		return nil
	})
	return rows, err
}

// change changes rows, also on a disk that is almost full.
func (d *Desk) change(ctx context.Context, fn func(t storage.Txn) error) error {
	return storage.Update(ctx, d.Store, storage.TxnOptions{Essential: true}, storage.Buffered, fn)
}

// post writes a call, and removes the rows of callers that have died.
func (d *Desk) post(ctx context.Context, q question) error {
	return d.change(ctx, func(t storage.Txn) error {
		err := remove(ctx, t, keyspace.MetaRange(keyspace.MetaSurvey), func(of ticket) bool { return of.since.Seconds()+leftOver < q.since.Seconds() })
		if err != nil {
			return err
		}
		if err := t.Set(q.questionKey(), append(append([]byte(q.kind), 0), q.body...)); err != nil {
			return err
		}
		return keyspace.TouchTopic(ctx, d.Store, t, Topic)
	})
}

// withdraw removes a call and its answers. An answer that is written at the same time is removed later with
// the rows that are older than leftOver.
func (d *Desk) withdraw(ctx context.Context, q ticket) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := d.change(ctx, func(t storage.Txn) error {
		if err := t.Delete(q.questionKey()); err != nil {
			return err
		}
		return remove(ctx, t, q.answerRange(), func(ticket) bool { return true })
	})
	d.report(ctx, err)
}

// load queues new calls of peers. It is called with a snapshot that contains them.
func (d *Desk) load(ctx context.Context, r storage.Reader) error {
	now := r.ReadTimestamp().Seconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	there := map[ticket]bool{}
	err := each(ctx, r, keyspace.MetaPrefixRange(keyspace.MetaSurvey, []byte{questions}), func(t ticket, _ storage.MemberID, value []byte) error {
		if t.asker == d.Store.Member() || t.since.Seconds()+leftOver < now {
			return nil
		}
		if !d.heard[t] {
			kind, body, _ := bytes.Cut(value, []byte{0})
			select {
			case d.work <- question{t, string(kind), bytes.Clone(body)}:
			default: // this server counts as silent
			}
		}
		there[t] = true
		return nil
	})
	if err == nil {
		d.heard = there
	}
	return err
}

// Run answers calls until ctx ends.
func (d *Desk) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range answeringMax {
		all.Go(func() {
			for {
				select {
				case q := <-d.work:
					d.report(ctx, d.reply(ctx, q))
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// reply writes the answer to a call, if the call is still there.
func (d *Desk) reply(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.mu.Lock()
	fn := d.kinds[q.kind]
	d.mu.Unlock()
	body, err := []byte(nil), error(fmt.Errorf("it does not know questions of the kind %q", q.kind))
	if fn != nil {
		body, err = fn(ctx, q.body)
	}
	row := encodeAnswer(body, err)
	return d.change(ctx, func(t storage.Txn) error {
		if _, err := t.Get(ctx, q.questionKey(), nil); err != nil {
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		}
		return t.Set(q.answerKey(d.Store.Member()), row)
	})
}

// report passes on an error, unless the server is stopping.
func (d *Desk) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		d.Failed(fmt.Errorf("questions between servers over one store: %w", err))
	}
}
