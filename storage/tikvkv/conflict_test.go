package tikvkv

import (
	"errors"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Several transactions can use the same past snapshot, each with a start timestamp of its own. They conflict
// with keys written or locked since, and with each other; rolling one back does not affect the others.
func TestBeginInThePast(t *testing.T) {
	s := openOn(t, fake(t), Options{Clock: time.Now})
	defer s.Close()
	at, err := commit(t, s, set("a", "1"))
	must(t, err)
	r, err := s.Snapshot(t.Context(), at) // a commit timestamp, as clients have it
	must(t, err)
	defer r.Close()
	past := func() *txn {
		tx, err := s.Begin(t.Context(), storage.TxnOptions{At: at})
		must(t, err)
		return tx.(*txn)
	}
	_, err = commit(t, s, set("b", "1"))
	must(t, err)
	_, err = commit(t, s, func(tx storage.Txn) error { return tx.Lock(t.Context(), []byte("locked")) })
	must(t, err)
	for what, fill := range map[string]func(tx storage.Txn) error{
		"a key written since": set("b", "2"), "a key locked since": set("locked", "2"),
		"a lock of a key written since": func(tx storage.Txn) error { return tx.Lock(t.Context(), []byte("b")) },
		"a lock of a key locked since":  func(tx storage.Txn) error { return tx.Lock(t.Context(), []byte("locked")) },
	} {
		tx := past()
		must(t, fill(tx))
		must(t, tx.Set([]byte("a"), []byte("lost")))
		if _, err := tx.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	one, two := past(), past()
	if one.start == two.start || one.start <= oracleOf(at) {
		t.Errorf("transactions begin at %d and %d", one.start, two.start)
	}
	must(t, errors.Join(set("c", "1")(one), set("c", "2")(two), set("d", "2")(two)))
	_, err = one.Commit(t.Context(), storage.Synced)
	must(t, err)
	if _, err := two.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("the second of two: %v", err)
	}
	for key, want := range map[string]string{"a": "1", "b": "1", "c": "1", "d": ""} {
		now, err := s.Snapshot(t.Context(), 0)
		must(t, err)
		if v, err := now.Get(t.Context(), []byte(key), nil); string(v) != want || err != nil && want != "" {
			t.Errorf("%s is %q, %v", key, v, err)
		}
		now.Close()
	}
	if v, err := r.Get(t.Context(), []byte("a"), nil); string(v) != "1" || err != nil {
		t.Errorf("the state of the past has %q, %v", v, err)
	}
}
