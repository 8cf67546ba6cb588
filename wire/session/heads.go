package session

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// headEntry is the kind of entry in the store by which servers over one store detect that they use a session at the
// same time. No server owns a session: its next command, or a retry of the same command, may reach a peer. So a
// command with a txnNumber first reads the session from the History, and each transaction of a retryable write also
// replaces the head of the session's history, a random number. If two servers run a statement at the same time, the
// transaction of one of them has a write conflict. Its next attempt finds a head that it has not read, and fails
// with an error on which drivers retry. The retry then finds the results of the other server.
//
//	meta 't' ‖ UUID(16) ‖ owner(32) ‖ 'h' → txnNumber(8) ‖ seconds(4) ‖ token(8)
const headEntry = 'h'

// Heads is a History that several servers share.
type Heads interface {
	// Head returns, inside a transaction of the store, the head of a session's history; 0 if there is none.
	Head(ctx context.Context, t storage.Txn, id ID) (uint64, error)
	// SaveHead replaces the head.
	SaveHead(t storage.Txn, id ID, txnNumber int64, head uint64) error
}

// Head see Heads.
func (s *Store) Head(ctx context.Context, t storage.Txn, id ID) (uint64, error) {
	v, err := t.Get(ctx, key(id, headEntry, 0), nil)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return 0, nil
	case err == nil && len(v) < headBytes+8:
		return 0, fmt.Errorf("the head of session %v: %w", id, storage.ErrCorruption)
	case err != nil:
		return 0, err
	}
	return binary.BigEndian.Uint64(v[headBytes:]), nil
}

// SaveHead see Heads.
func (s *Store) SaveHead(t storage.Txn, id ID, txnNumber int64, head uint64) error {
	return t.Set(key(id, headEntry, 0), binary.BigEndian.AppendUint64(value(txnNumber, 8), head))
}

// newHead returns a new head: a random number other than 0, so that two heads are practically never equal.
func newHead() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return max(binary.BigEndian.Uint64(b[:]), 1)
}

// advanceHead replaces the head of the session's history inside the transaction of a statement, if servers share
// sessions. Errors: ErrUnavailable if a peer has replaced the head since this server read the session.
func (s *Session) advanceHead(ctx context.Context, t storage.Txn) error {
	h, ok := s.registry.cfg.History.(Heads)
	if !ok || !s.registry.cfg.Shared {
		return nil
	}
	head, err := h.Head(ctx, t, s.ID)
	if err != nil {
		return err
	}
	if !slices.Contains(s.heads, head) {
		return fmt.Errorf("%w: the session is used at another server at the same time", storage.ErrUnavailable)
	}
	next := newHead()
	if len(s.heads) < headsMax {
		s.heads = append(s.heads, next)
	} else {
		s.heads[len(s.heads)-1] = next
	}
	return h.SaveHead(t, s.ID, s.number, next)
}

// headsMax bounds how many of its own saved heads one command remembers: one for each attempt of each of its
// transactions, of which the last attempt counts.
const headsMax = 256

// refresh reads the session from the History again for a command with a txnNumber, if peers may have used the
// session. If the command ends a transaction that ran at a peer, refresh also makes the outcome of this transaction
// final: committed, or aborted for ever.
func (s *Session) refresh(ctx context.Context, a Args) error {
	if !s.registry.cfg.Shared || s.state == InProgress && a.TxnNumber <= s.number {
		return s.load(ctx)
	}
	s.registry.resize(-s.results.bytes)
	s.results, s.loaded = results{}, false
	if err := s.load(ctx); err != nil {
		return err
	}
	if h := s.registry.cfg.History; a.InTxn && a.Ending && a.TxnNumber > s.number && h != nil {
		at, committed, err := h.MakeCommitFinal(ctx, s.ID, a.TxnNumber)
		if err != nil {
			return fmt.Errorf("session %v: %w", s.ID, err)
		}
		s.advance(a.TxnNumber, Aborted)
		if committed {
			s.state, s.committed = Committed, at
		}
	}
	return nil
}
