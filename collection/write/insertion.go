package write

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Records of an unsharded collection are stored in the order of their _id. Their insertion order is stored only where
// it differs: a document whose id is beyond the frontier, the place of the last document in insertion order, has the
// place of its own id. Any other is placed behind the frontier, by two keys (keyspace.Place) in the transaction of its
// insertion. So no later document has a place in front of an earlier one, also after deletions: the frontier only
// moves back to the last place that is still in use.
//
// The order of inserts that are concurrent is not defined. An update keeps the place, because it keeps the _id.

// InsertionOrderDocs is the number of documents of a collection beyond which no more documents are placed: they have the
// place of their _id.
const InsertionOrderDocs = 10_000

// placedIDMax is the length in bytes of the longest id that is stored in a place.
const placedIDMax = 512

// Frontier is a bound in memory of the places of all documents of a collection: no place is beyond it. So the insert of
// a rising _id needs no read, and a delete or a scan looks for no place if no document is placed. It is for a server that has the store
// exclusively; every insert there, also one that is not committed, moves the frontier first. The zero Frontier has no
// bound yet. Safe for concurrent use.
type Frontier struct {
	mu     sync.Mutex
	whole  bool   // the bound includes all that was committed before the first insert
	bound  []byte // of ids; a prefix of a longer id, extended to be beyond it
	placed atomic.Int32
}

// The values of Frontier.placed: whether any document is placed. The first one changes, and the second one
// to the third.
const (
	placedUnknown = int32(iota)
	placedNone
	placedSome
)

// NonePlaced reports whether it has been noted that no document is placed. It is false for nil.
func (f *Frontier) NonePlaced() bool { return f != nil && f.placed.Load() == placedNone }

// Noted notes whether a transaction or a snapshot has read places. A place that another transaction makes meanwhile was
// noted before. For nil it does nothing.
func (f *Frontier) Noted(some bool) {
	switch {
	case f == nil:
	case some:
		f.placed.Store(placedSome)
	default:
		f.placed.CompareAndSwap(placedUnknown, placedNone)
	}
}

// pass moves the bound to an id that is beyond it. It reports whether the id is beyond the places of all documents.
func (f *Frontier) pass(id []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raise(id) && f.whole
}

// include adds the last place that a transaction has read.
func (f *Frontier) include(last []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raise(last)
	f.whole = true
}

func (f *Frontier) raise(id []byte) bool {
	if bytes.Compare(id, f.bound) <= 0 {
		return false
	}
	if len(id) > placedIDMax {
		f.bound = append(f.bound[:0], keyspace.PrefixEnd(bytes.Clone(id[:placedIDMax]))...)
	} else {
		f.bound = append(f.bound[:0], id...)
	}
	return true
}

// insertion is the insertion order of a collection as far as a Target has read it.
type insertion struct {
	read   bool   // memory.last and number are set: the place that the next document gets, if it gets one
	number uint64 // of that place
	looked bool   // some is set
	some   bool   // places exist in the state of the transaction
}

// place gives the document with t.id, which is about to be inserted, its place in the insertion order.
func (t *Target) place(env *mql.Env) error {
	o := &t.insertion
	if !t.Coll.KeepsInsertionOrder() {
		return nil
	}
	if t.Frontier != nil && t.Frontier.pass(t.id) {
		t.last, o.number, o.read = append(t.last[:0], t.id...), 0, true
		return nil
	}
	if t.Placeable == nil || len(t.id) > placedIDMax || t.Docs >= t.Placeable() {
		return nil
	}
	if !o.read {
		// A store whose data are damaged refuses the commit, with an error that names the remedy.
		if err := t.readFrontier(env); errors.Is(err, storage.ErrCorruption) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if bytes.Compare(t.id, t.last) > 0 {
		t.last, o.number = append(t.last[:0], t.id...), 0
		return nil
	}
	if len(t.last) > placedIDMax {
		return nil
	}
	if !o.looked || o.some {
		// A program without insertion order may have deleted an earlier document with this id, but not its place.
		if err := t.deletePlace(env); err != nil {
			return err
		}
	}
	t.placed = keyspace.Place{After: t.last, Number: o.number}.Append(t.placed[:0])
	t.record = keyspace.AppendPlaceOf(t.record[:0], t.Coll.ID, t.id)
	if err := t.Txn.Set(t.record, t.placed); err != nil {
		return err
	}
	t.record = keyspace.AppendPlaced(t.record[:0], t.Coll.ID, t.placed, t.id)
	if err := t.Txn.Set(t.record, keyspace.AppendPlacedValue(nil, t.placed)); err != nil {
		return err
	}
	o.number++
	o.looked, o.some = true, true
	t.Frontier.Noted(true)
	return nil
}

// removePlace removes the place of the document with t.id, if it has one of its own.
func (t *Target) removePlace(env *mql.Env) error {
	if !t.Coll.KeepsInsertionOrder() {
		return nil
	}
	if some, err := t.hasPlaces(env); !some || err != nil {
		return err
	}
	return t.deletePlace(env)
}

// deletePlace deletes both keys of the place of the document with t.id, if they exist.
func (t *Target) deletePlace(env *mql.Env) error {
	t.record = keyspace.AppendPlaceOf(t.record[:0], t.Coll.ID, t.id)
	place, err := t.Txn.Get(env.Context(), t.record, t.placed[:0])
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.placed = place
	if err := t.Txn.Delete(t.record); err != nil {
		return err
	}
	t.record = keyspace.AppendPlaced(t.record[:0], t.Coll.ID, t.placed, t.id)
	return t.Txn.Delete(t.record)
}

// hasPlaces reports whether any document of the collection has a place of its own. It reads once per transaction.
func (t *Target) hasPlaces(env *mql.Env) (bool, error) {
	o := &t.insertion
	if !o.looked && t.Frontier.NonePlaced() {
		return false, nil
	}
	if !o.looked {
		it, err := t.Txn.Iter(env.Context(), keyspace.PlacedRange(t.Coll.ID), storage.IterOptions{KeysOnly: true, FetchRows: 1})
		if err != nil {
			return false, err
		}
		defer it.Close()
		o.some = it.Next()
		if err := it.Err(); err != nil {
			return false, err
		}
		o.looked = true
		t.Frontier.Noted(o.some)
	}
	return o.some, nil
}

// readFrontier reads the frontier in the state of the transaction, and with it the next place behind it.
func (t *Target) readFrontier(env *mql.Env) error {
	record, key, value, err := t.lastKeys(env)
	if err != nil {
		return err
	}
	o := &t.insertion
	t.last, o.number = t.last[:0], 0
	if record != nil {
		_, _, id, ok := keyspace.SplitRecord(record)
		if !ok {
			return storage.ErrCorruption
		}
		t.last = append(t.last, id...)
	}
	o.looked, o.some = true, key != nil
	t.Frontier.Noted(o.some)
	if key != nil {
		encoded, _, ok := keyspace.SplitPlaced(key, value)
		p, also := keyspace.SplitPlace(encoded)
		if !ok || !also {
			return storage.ErrCorruption
		}
		if bytes.Compare(p.After, t.last) >= 0 {
			t.last, o.number = append(t.last[:0], p.After...), p.Number+1
		}
	}
	o.read = true
	if t.Frontier != nil {
		t.Frontier.include(t.last)
	}
	return nil
}

// lastKeys returns the last record key, and the last key of the places with its value; nil if there is none. From a
// remote store both are read at the same time.
func (t *Target) lastKeys(env *mql.Env) (record, key, value []byte, err error) {
	var placeErr error
	readPlace := func() { key, value, placeErr = t.lastOf(env, keyspace.PlacedRange(t.Coll.ID), false) }
	var together sync.WaitGroup
	_, remote := t.Txn.(storage.Fetcher)
	if remote {
		together.Go(readPlace)
	}
	record, _, err = t.lastOf(env, keyspace.RecordRange(t.Coll.ID), true)
	together.Wait()
	if err == nil && !remote {
		readPlace()
	}
	return record, key, value, errors.Join(err, placeErr)
}

// lastOf returns copies of the last key of a range and, unless keysOnly, of its value; nil if there is none.
func (t *Target) lastOf(env *mql.Env, r storage.Range, keysOnly bool) (key, value []byte, err error) {
	it, err := t.Txn.Iter(env.Context(), r, storage.IterOptions{Reverse: true, KeysOnly: keysOnly, FetchRows: 1})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	if !it.Next() {
		return nil, nil, it.Err()
	}
	if !keysOnly {
		value = bytes.Clone(it.Value())
	}
	return bytes.Clone(it.Key()), value, it.Err()
}
