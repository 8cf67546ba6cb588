// Package faultkv wraps a store and injects faults that the contract of package storage allows, by rules:
// conflicts, undetermined commits, lost snapshots, full disks, delays. Tests run code over it that has to handle
// such faults.
package faultkv

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Op is a kind of call to a store. A rule applies to one kind.
type Op uint8

// The calls, on a Store, its Readers and its Txns.
const (
	Begin Op = iota
	Snapshot
	Get // also Has and each GetMany
	Iter
	Set // also Delete
	Commit
	ReadLog // also ReadLogBack
	opCount
)

// Rule describes a fault: which calls of one kind it affects, and how they fail or wait.
type Rule struct {
	Op          Op
	Skip        int           // skip the first Skip calls
	Times       int           // the maximum number of affected calls; 0 = no limit
	Probability float64       // probability with which a call is affected; 0 = always
	Delay       time.Duration // waiting time before the call; the end of its context ends the wait
	Err         error         // error of the call; nil = the call only waits

	// AtTimestamp limits the rule to Begin and Snapshot calls with a timestamp other than 0, because the newest
	// state of a store is never lost.
	AtTimestamp bool

	// Key and Unless, if not nil, limit the rule to commits that write at least one key for which Key is true, and
	// none for which Unless is true. Commits of keys with one writer at a time never conflict, so tests exclude
	// them.
	Key, Unless func(key []byte) bool

	// After means that the commit is executed before Err is returned: with ErrUndetermined, the commit has
	// happened although the caller gets an unknown outcome. If the commit fails, its own error is returned.
	// Without After the commit is abandoned.
	After bool
}

// Conflict returns a rule by which a commit fails with ErrConflict, with probability p; 0 means always, here and in the
// functions below, which return similar rules.
func Conflict(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrConflict}
}

// UndeterminedCommitted returns a rule by which a commit happens, but returns ErrUndetermined, with probability p.
func UndeterminedCommitted(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrUndetermined, After: true}
}

// UndeterminedAborted returns a rule by which a commit does not happen, and returns ErrUndetermined, with
// probability p.
func UndeterminedAborted(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrUndetermined}
}

// OldSnapshot returns a rule by which Snapshot fails with ErrSnapshotTooOld, with probability p.
func OldSnapshot(p float64) Rule {
	return Rule{Op: Snapshot, Probability: p, Err: storage.ErrSnapshotTooOld}
}

// Store is a storage.Store that passes calls on to another one; those that its rules affect fail or wait first.
type Store struct {
	storage.Store

	mu    sync.Mutex
	rng   *rand.Rand
	rules []*ruleState
	calls [opCount]int
}

// ruleState is a rule with the number of matching calls and of affected calls so far.
type ruleState struct {
	Rule
	seen, applied int
}

// New returns a Store over s with rules; the seed determines which calls a rule with a probability affects.
// Closing the result closes s.
func New(s storage.Store, seed uint64, rules ...Rule) *Store {
	f := &Store{Store: s, rng: rand.New(rand.NewPCG(seed, 0))}
	f.SetRules(rules...)
	return f
}

// SetRules replaces all rules of the store, and resets their counters.
func (f *Store) SetRules(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
	for _, r := range rules {
		f.rules = append(f.rules, &ruleState{Rule: r})
	}
}

// Applied returns the number of times that a present rule made a call of a kind fail or wait.
func (f *Store) Applied(op Op) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.Op == op {
			n += r.applied
		}
	}
	return n
}

// Calls returns the number of calls of a kind to the store, affected or not.
func (f *Store) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// call describes one call to the store, for the choice of the rules that apply.
type call struct {
	op          Op
	atTimestamp bool                       // the call is for a timestamp other than the newest state
	wrote       map[*ruleState]writtenKeys // by rule, which keys the transaction has written
}

// writtenKeys records for one rule which keys a transaction has written: key if Key was true for one of them,
// unless if Unless was.
type writtenKeys struct{ key, unless bool }

// matches reports whether a rule applies to a call.
func (r *ruleState) matches(c call) bool {
	w := c.wrote[r]
	return r.Op == c.op && (c.atTimestamp || !r.AtTimestamp) && (w.key || r.Key == nil) && !w.unless
}

// apply applies the rules to a call, in order up to the first that returns an error. It waits for their delays,
// and returns that error, and whether the call is executed nevertheless.
func (f *Store) apply(ctx context.Context, c call) (after bool, err error) {
	f.mu.Lock()
	f.calls[c.op]++
	var delay time.Duration
	for _, r := range f.rules {
		if err != nil || !r.matches(c) {
			continue
		}
		r.seen++
		if r.seen <= r.Skip || r.Times > 0 && r.applied >= r.Times || r.Probability > 0 && f.rng.Float64() >= r.Probability {
			continue
		}
		r.applied++
		delay += r.Delay
		err, after = r.Err, r.After
	}
	f.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return after, err
}

// Begin implements storage.Store.
func (f *Store) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	if _, err := f.apply(ctx, call{op: Begin, atTimestamp: o.At != 0}); err != nil {
		return nil, err
	}
	t, err := f.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &txn{Txn: t, f: f}, nil
}

// Snapshot implements storage.Store.
func (f *Store) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	if _, err := f.apply(ctx, call{op: Snapshot, atTimestamp: at != 0}); err != nil {
		return nil, err
	}
	r, err := f.Store.Snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: r, f: f}, nil
}

// ReadLog implements storage.Store.
func (f *Store) ReadLog(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (storage.Timestamp, error) {
	if _, err := f.apply(ctx, call{op: ReadLog}); err != nil {
		return after, err
	}
	return f.Store.ReadLog(ctx, stream, after, yield)
}

// ReadLogBack implements storage.Store.
func (f *Store) ReadLogBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) error {
	if _, err := f.apply(ctx, call{op: ReadLog}); err != nil {
		return err
	}
	return f.Store.ReadLogBack(ctx, stream, upTo, after, yield)
}

// reader is a Reader whose calls the rules of f can affect.
type reader struct {
	storage.Reader
	f *Store
}

func (r *reader) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	if _, err := r.f.apply(ctx, call{op: Get}); err != nil {
		return dst, err
	}
	return r.Reader.Get(ctx, key, dst)
}

func (r *reader) Has(ctx context.Context, key []byte) (bool, error) {
	if _, err := r.f.apply(ctx, call{op: Get}); err != nil {
		return false, err
	}
	return r.Reader.Has(ctx, key)
}

func (r *reader) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if _, err := r.f.apply(ctx, call{op: Get}); err != nil {
		return err
	}
	return r.Reader.GetMany(ctx, keys, emit)
}

func (r *reader) Iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	if _, err := r.f.apply(ctx, call{op: Iter}); err != nil {
		return nil, err
	}
	return r.Reader.Iter(ctx, rg, o)
}

// txn is a Txn whose calls the rules of f can affect.
type txn struct {
	storage.Txn
	f     *Store
	wrote map[*ruleState]writtenKeys
}

// Snapshot implements storage.Txn.
func (t *txn) Snapshot() storage.Reader { return &reader{Reader: t.Txn.Snapshot(), f: t.f} }

// write applies the rules to a Set or Delete of key, and records for each rule whether its Key or Unless is true
// for key.
func (t *txn) write(key []byte) error {
	if _, err := t.f.apply(context.Background(), call{op: Set}); err != nil {
		return err
	}
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	for _, r := range t.f.rules {
		if r.Key == nil && r.Unless == nil {
			continue
		}
		w := t.wrote[r]
		w.key = w.key || r.Key != nil && r.Key(key)
		w.unless = w.unless || r.Unless != nil && r.Unless(key)
		if t.wrote == nil {
			t.wrote = map[*ruleState]writtenKeys{}
		}
		t.wrote[r] = w
	}
	return nil
}

func (t *txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	return (&reader{t.Txn, t.f}).Get(ctx, key, dst)
}

func (t *txn) Has(ctx context.Context, key []byte) (bool, error) {
	return (&reader{t.Txn, t.f}).Has(ctx, key)
}

func (t *txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	return (&reader{t.Txn, t.f}).GetMany(ctx, keys, emit)
}

func (t *txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	return (&reader{t.Txn, t.f}).Iter(ctx, r, o)
}

func (t *txn) Set(key, value []byte) error {
	if err := t.write(key); err != nil {
		return err
	}
	return t.Txn.Set(key, value)
}

func (t *txn) Delete(key []byte) error {
	if err := t.write(key); err != nil {
		return err
	}
	return t.Txn.Delete(key)
}

func (t *txn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	after, err := t.f.apply(ctx, call{op: Commit, wrote: t.wrote})
	if err == nil {
		return t.Txn.Commit(ctx, d)
	}
	if !after {
		t.Txn.Close()
		return 0, err
	}
	if _, commitErr := t.Txn.Commit(ctx, d); commitErr != nil {
		return 0, commitErr // the commit failed for a known reason
	}
	return 0, err
}
