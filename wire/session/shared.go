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

// headEntry is the kind of entry by which several processes over one store find out that they
// use a session at the same time. There a session is at home at none of them: its next
// command, or the same one again, may come to another. So a numbered command first reads what
// the History has of its session, and each transaction of a retryable write also changes the
// head of the session's history: of two processes that run a statement at the same time one
// conflicts, finds in its next attempt that the head is another than it has read, and gives up
// with an error that drivers retry. What the other one has done is known by then.
//
//	meta 't' ‖ UUID(16) ‖ owner(32) ‖ 'h' → txnNumber(8) ‖ seconds(4) ‖ token(8)
const headEntry = 'h'

// Heads is a History that several processes share.
type Heads interface {
	// Head returns the head of a session's history as a transaction sees it, 0 for none.
	Head(ctx context.Context, t storage.Txn, id ID) (uint64, error)
	// SaveHead makes it another one.
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

// newHead makes a head that nobody else makes.
func newHead() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return max(binary.BigEndian.Uint64(b[:]), 1)
}

// advanceHead changes the head inside the transaction of a statement.
// Errors: ErrUnavailable if another process has changed it since the session was read.
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

// headsMax bounds the heads that one command remembers to have made: one for each try of
// each transaction, of which the last one counts.
const headsMax = 256

// again makes a numbered command read its session anew where others may have used it. What
// became of a transaction at another process is decided when it is to end here: committed, or
// never.
func (s *Session) again(ctx context.Context, a Args) error {
	if !s.registry.cfg.Shared || s.state == InProgress && a.TxnNumber <= s.number {
		return s.load(ctx)
	}
	s.registry.resize(-s.done.bytes)
	s.done, s.loaded = results{}, false
	if err := s.load(ctx); err != nil {
		return err
	}
	if h := s.registry.cfg.History; a.InTxn && a.Ending && a.TxnNumber > s.number && h != nil {
		at, committed, err := h.SettleCommit(ctx, s.ID, a.TxnNumber)
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
