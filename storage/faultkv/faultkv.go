// Package faultkv wraps a store and injects faults that the contract of package storage
// allows, by rules: conflicts, undetermined commits, lost snapshots, full disks, delays.
// Tests use it under code that has to handle them.
package faultkv

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Op is a kind of call a rule applies to.
type Op uint8

// The calls, on a Store, its Readers and its Txns.
const (
	Begin Op = iota
	Snapshot
	Get // also Has and each GetMany
	Iter
	Set // also Delete
	Commit
	ReadLog
	opCount
)

// Rule makes some calls of one kind fail or wait.
type Rule struct {
	Op          Op
	Skip        int           // skip the first Skip calls
	Times       int           // affect this many calls, then no more; 0 = no limit
	Probability float64       // probability to affect a call; 0 = always
	Delay       time.Duration // waited before the call, or until its context ends
	Err         error         // returned; nil = only the delay

	// AtTimestamp limits the rule to Begin and Snapshot calls with a given timestamp: a store
	// always has its newest state.
	AtTimestamp bool

	// Key and Unless, if not nil, limit the rule to commits that write a key for which Key
	// is true, and none for which Unless is true: keys with one writer at a time never
	// conflict.
	Key, Unless func(key []byte) bool

	// After executes the call and then returns Err. With ErrUndetermined, the commit has
	// then happened although the caller gets an unknown outcome. Without After the commit
	// is abandoned.
	After bool
}

// Conflict makes commits fail with ErrConflict, with probability p. The functions below
// return similar rules.
func Conflict(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrConflict}
}

// UndeterminedCommitted commits and returns ErrUndetermined.
func UndeterminedCommitted(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrUndetermined, After: true}
}

// UndeterminedAborted does not commit and returns ErrUndetermined.
func UndeterminedAborted(p float64) Rule {
	return Rule{Op: Commit, Probability: p, Err: storage.ErrUndetermined}
}

// OldSnapshot makes Snapshot fail with ErrSnapshotTooOld.
func OldSnapshot(p float64) Rule {
	return Rule{Op: Snapshot, Probability: p, Err: storage.ErrSnapshotTooOld}
}

// Store is a store with rules.
type Store struct {
	storage.Store

	mu    sync.Mutex
	rng   *rand.Rand
	rules []*ruleState
	calls [opCount]int
}

// ruleState is a rule with its counters.
type ruleState struct {
	Rule
	seen, applied int
}

// New wraps s; the seed determines which calls rules with a probability affect. Closing
// the result closes s.
func New(s storage.Store, seed uint64, rules ...Rule) *Store {
	f := &Store{Store: s, rng: rand.New(rand.NewPCG(seed, 0))}
	f.SetRules(rules...)
	return f
}

// SetRules replaces the rules and resets their counters.
func (f *Store) SetRules(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
	for _, r := range rules {
		f.rules = append(f.rules, &ruleState{Rule: r})
	}
}

// Applied returns the number of calls of a kind that the rules made fail or wait.
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

// Calls returns the number of calls of a kind.
func (f *Store) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// call describes a call for the rules.
type call struct {
	op          Op
	atTimestamp bool                       // it has a timestamp
	wrote       map[*ruleState]writtenKeys // what the transaction has written
}

// writtenKeys records for a rule which keys a transaction has written: key if Key was true for
// one, unless if Unless was.
type writtenKeys struct{ key, unless bool }

// matches reports whether a rule applies to a call.
func (r *ruleState) matches(c call) bool {
	w := c.wrote[r]
	return r.Op == c.op && (c.atTimestamp || !r.AtTimestamp) && (w.key || r.Key == nil) && !w.unless
}

// apply applies the rules to a call: the first one that fails it decides.
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

// reader is a Reader under the rules.
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

// txn is a Txn under the rules.
type txn struct {
	storage.Txn
	f     *Store
	wrote map[*ruleState]writtenKeys
}

// Snapshot implements storage.Txn.
func (t *txn) Snapshot() storage.Reader { return &reader{Reader: t.Txn.Snapshot(), f: t.f} }

// write applies the rules to a write, and records for them which keys were written.
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
		return 0, commitErr // it failed for a known reason
	}
	return 0, err
}
