package jobs

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// reshards holds the running Reshards.
type reshards struct {
	mu sync.Mutex
	m  map[keyspace.CollectionID]*reshardControl
}

// reshardControl is the handle by which other commands control a Reshard.
type reshardControl struct {
	blockNow atomic.Bool // block writers now
	cancel   context.CancelCauseFunc
	command  bson.Raw
	done     chan struct{}
	err      error // of the Reshard, once done is closed

	mu      sync.Mutex
	settled bool // committed or aborted
}

// commit ends the time in which the Reshard can be aborted. It returns false if that has ended already, by an abort
// or a commit.
func (c *reshardControl) commit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled {
		return false
	}
	c.settled = true
	return true
}

func (s *reshards) begin(id keyspace.CollectionID, command bson.Raw, cancel context.CancelCauseFunc) *reshardControl {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[keyspace.CollectionID]*reshardControl{}
	}
	c := &reshardControl{cancel: cancel, command: command, done: make(chan struct{})}
	s.m[id] = c
	return c
}

func (s *reshards) end(id keyspace.CollectionID, c *reshardControl, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, id)
	c.err = err
	close(c.done)
}

func (s *reshards) of(id keyspace.CollectionID) *reshardControl {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[id]
}

// Resharding reports whether a collection is being rewritten for another shard key at this server.
func (r *Runner) Resharding(id keyspace.CollectionID) bool { return r.resharding.of(id) != nil }

// Join waits for a Reshard of this server that the same command began, and returns its error; joined is false if there is
// none. So a repeated command ends together with the first one, whose client has given up.
// Manual: reference/command/reshardCollection. Errors: the errors of Reshard, the cause of ctx.
func (r *Runner) Join(ctx context.Context, id keyspace.CollectionID, command bson.Raw) (joined bool, err error) {
	c := r.resharding.of(id)
	if c == nil || !bytes.Equal(c.command, command) {
		return false, nil
	}
	if err := c.wait(ctx); err != nil {
		return true, err
	}
	return true, c.err
}

// AbortReshard aborts a Reshard and waits until the old collection is writable again.
// Manual: reference/command/abortReshardCollection.
// Errors: NoSuchReshardCollection (339), ReshardCollectionCommitted (340), the cause of ctx; for a Reshard of a peer
// also the errors of the store.
func (r *Runner) AbortReshard(ctx context.Context, id keyspace.CollectionID) error {
	c := r.resharding.of(id)
	if c == nil {
		return r.requestFromPeer(ctx, id, noteAbort)
	}
	if !c.abort() {
		return committed()
	}
	return c.wait(ctx)
}

// abort aborts a Reshard, unless it is being committed or has ended already, and reports whether it did. A Reshard that then
// finds itself settled has the cause of its context.
func (c *reshardControl) abort() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled {
		return false
	}
	c.settled = true
	c.cancel(mongoerr.New(mongoerr.ReshardCollectionAborted, "the resharding operation was aborted by the user"))
	return true
}

func committed() error {
	return mongoerr.New(mongoerr.ReshardCollectionCommitted, "the resharding operation is being committed and cannot be aborted any more")
}

// CommitReshard makes a Reshard block writers and finish now, and waits for it; an error of the Reshard is not
// returned.
// Manual: reference/command/commitReshardCollection.
// Errors: NoSuchReshardCollection (339), the cause of ctx; for a Reshard of a peer also the errors of the store.
func (r *Runner) CommitReshard(ctx context.Context, id keyspace.CollectionID) error {
	c := r.resharding.of(id)
	if c == nil {
		return r.requestFromPeer(ctx, id, noteBlockNow)
	}
	c.blockNow.Store(true)
	return c.wait(ctx)
}

func notResharding() error {
	return mongoerr.New(mongoerr.NoSuchReshardCollection, "Could not find in-progress resharding operation")
}

func (c *reshardControl) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
