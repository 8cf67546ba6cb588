package simulation

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// canarySeeds is the number of seeds within which TestCanary must find a planted bug.
const canarySeeds = 20

// TestCanary plants several bugs, one after the other. The simulation must find each of them and report it with the
// bug's own message.
func TestCanary(t *testing.T) {
	for _, x := range []struct {
		name, sign string
		plan       plan
	}{
		{"acknowledged before it is on the disk", "which was acknowledged", plan{flags: []string{"--sync=interval:60000"}}},
		{"a retry counts as something new", "twice", plan{forgets: true}},
		{"an index keeps an entry", "validate", plan{wrap: planted(func(w *write) bool { return w.key != nil && w.key[0] == 'i' && w.deletes })}},
		{"an index misses an entry", "validate", plan{wrap: planted(func(w *write) bool { return w.key != nil && w.key[0] == 'i' && !w.deletes })}},
		{"a change is not in the log", "came after", plan{wrap: planted(func(w *write) bool { return w.key == nil })}},
		{"a cursor sees what its transaction writes later", "from the future", plan{wrap: func(s storage.Store) storage.Store { return unstableStore{s} }}},
		{"half a transaction", "half there", plan{wrap: planted(func(w *write) bool { return w.key != nil && w.key[0] == 'r' && !w.deletes && w.number > 3 })}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for seed := range uint64(canarySeeds) {
				wrong, _, _ := simulate(t, 1+seed, x.plan)
				for _, text := range wrong {
					if strings.Contains(text, x.sign) {
						t.Logf("found by seed %d: %.200s", 1+seed, text)
						return
					}
				}
			}
			t.Errorf("%d seeds did not find it", canarySeeds)
		})
	}
}

// write is one write of a transaction, to a key or to the change log, for the choice of a write that a planted bug
// drops.
type write struct {
	key     []byte // nil = to the change log
	deletes bool
	number  int // position in its transaction
}

// planted drops one in fifty of some writes.
func planted(which func(w *write) bool) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return &forgetful{Store: s, which: which, rng: rand.New(rand.NewPCG(1, 1))}
	}
}

// unstableStore is a store with a planted bug: the snapshot of a transaction, from which its cursors read, shows the
// writes that the transaction makes later.
type unstableStore struct{ storage.Store }

// Begin implements storage.Store.
func (s unstableStore) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := s.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return unstableTxn{t}, nil
}

type unstableTxn struct{ storage.Txn }

func (t unstableTxn) Snapshot() storage.Reader { return t.Txn }

// forgetful is a store that drops some writes.
type forgetful struct {
	storage.Store
	which func(w *write) bool
	mu    sync.Mutex
	rng   *rand.Rand
}

// Begin implements storage.Store.
func (f *forgetful) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := f.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &forgetfulTxn{Txn: t, of: f}, nil
}

// forgetfulTxn is a transaction of a forgetful store.
type forgetfulTxn struct {
	storage.Txn
	of     *forgetful
	number int
}

// forgets draws whether a write is dropped.
func (t *forgetfulTxn) forgets(w *write) bool {
	t.number++
	w.number = t.number
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.of.which(w) && t.of.rng.IntN(50) == 0
}

func (t *forgetfulTxn) Set(key, value []byte) error {
	if t.forgets(&write{key: key}) {
		return nil
	}
	return t.Txn.Set(key, value)
}

func (t *forgetfulTxn) Delete(key []byte) error {
	if t.forgets(&write{key: key, deletes: true}) {
		return nil
	}
	return t.Txn.Delete(key)
}

func (t *forgetfulTxn) AppendLog(stream, record []byte) error {
	if t.forgets(&write{}) {
		return nil
	}
	return t.Txn.AppendLog(stream, record)
}

// TestAgain runs some seeds twice and logs how many of the runs were identical. It does not fail, because the Go
// runtime decides a part of each run.
func TestAgain(t *testing.T) {
	same, cut := 0, 0
	const seeds = 5
	for seed := range uint64(seeds) {
		_, a, first := simulate(t, 1+seed, plan{})
		_, b, second := simulate(t, 1+seed, plan{})
		if first == second {
			same++
		}
		if a.cuts == b.cuts && a.failures == b.failures {
			cut++
		}
	}
	t.Logf("of %d seeds %d went the same way to the last line of their logs; %d had the same faults", seeds, same, cut)
}
