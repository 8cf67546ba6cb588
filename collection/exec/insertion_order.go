package exec

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// insertionOrder reads all records of an unsharded collection in insertion order, or in reverse, by three iterators:
// one of the records, which have their place by themselves unless they are placed; one of the ids of placed documents,
// beside the first, which leaves these out; and one of the placed documents in the order of their places, whose records
// are looked up in batches. Nothing is sorted or kept beyond a batch, so a limit reads few records more than it returns.
//
// Each placed document is delivered once, at its key of AppendPlaced, because both of its keys are written and deleted
// together. A key without a record is skipped: it exists in a past state of a collection (collection/rewind).
type insertionOrder struct {
	src     Source
	reverse bool
	hash    keyspace.Hash // of all records
	rest    insertionRest
	opened  bool // open has been called since the last park

	records walk
	at      recordState
	moved   bool // records is on a key
	ids     walk // of placed documents
	onID    bool
	idsEnd  bool
	entries walk
	batch   placedBatch
}

// insertionRest holds the ranges that an insertionOrder has not read when it is opened.
type insertionRest struct{ records, ids, entries storage.Range }

// recordState is the state of the current record.
type recordState uint8

const (
	recordDelivered recordState = iota // or none was read yet
	recordUnchecked                    // it may be placed
	recordNext                         // it is not placed, and not delivered
	recordsEnd
)

// placedBatch holds placed documents, in the order in which they are delivered.
type placedBatch struct {
	items []placedItem
	next  int // index of the first item that was not delivered
	read  bool
	size  int // number of documents of the next batch
	end   bool
	last  []byte // last key that was read of the entries
	mem   []byte
	keys  [][]byte // of the records, sorted
	order []int32  // of each of keys its item
}

// placedItem is a placed document.
type placedItem struct {
	entry  []byte // key of AppendPlaced
	after  []byte // the document is placed behind the record with this id
	record []byte // key of the record
	id     []byte // of the record
	doc    []byte // nil before the batch is read, and if there is no record
}

// openInsertionOrder returns the scan of all records of a source, nil if the order of the records is that of their
// insertion. With a frontier that already excludes places, it reads nothing.
func openInsertionOrder(env *mql.Env, src Source, reverse bool) (*insertionOrder, error) {
	if src.Frontier.NonePlaced() {
		return nil, nil
	}
	id := src.Coll.ID
	entries := walk{}
	err := entries.begin(env, src.Reader, keyspace.PlacedRange(id), storage.IterOptions{Reverse: reverse})
	if err != nil {
		return nil, err
	}
	if !entries.it.Next() {
		err := entries.it.Err()
		entries.release()
		if err == nil {
			src.Frontier.Noted(false)
		}
		return nil, err
	}
	o := &insertionOrder{src: src, reverse: reverse, entries: entries, rest: insertionRest{
		keyspace.RecordRange(id), keyspace.PlaceOfRange(id), keyspace.PlacedRange(id)}}
	o.hash, _ = src.Shard.Hashes()
	o.batch.size = 1
	if err := o.add(); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// open opens the iterators that are not open.
func (o *insertionOrder) open(env *mql.Env) error {
	for _, x := range [...]struct {
		w        *walk
		r        storage.Range
		keysOnly bool
		ended    bool
	}{
		{&o.records, o.rest.records, false, o.at == recordsEnd}, {&o.ids, o.rest.ids, true, o.at == recordsEnd},
		{&o.entries, o.rest.entries, false, o.batch.end},
	} {
		if x.w.it != nil || x.ended {
			continue
		}
		if err := x.w.begin(env, o.src.Reader, x.r, storage.IterOptions{Reverse: o.reverse, KeysOnly: x.keysOnly}); err != nil {
			return err
		}
	}
	o.opened = true
	return nil
}

// advance makes one step towards the next document, and reports whether it is determined, which is also so at the end.
// Errors: storage errors; after one, a further call continues.
func (o *insertionOrder) advance(env *mql.Env) (ready bool, err error) {
	if !o.opened {
		if err := o.open(env); err != nil {
			return false, err
		}
	}
	for _, w := range [...]*walk{&o.records, &o.ids, &o.entries} {
		if w.it != nil {
			w.under(env)
		}
	}
	b := &o.batch
	switch {
	case o.at == recordDelivered:
		return false, o.step()
	case o.at == recordUnchecked:
		return false, o.check()
	case b.next < len(b.items) && !b.read:
		return false, b.lookUp(env, o.src.Reader)
	case b.next == len(b.items) && !b.end:
		return false, o.collect()
	case b.next < len(b.items) && b.items[b.next].doc == nil && o.placedFirst():
		b.next++
		return false, nil
	}
	return true, nil
}

// step moves to the next record.
func (o *insertionOrder) step() error {
	if o.records.it.Next() {
		o.at, o.moved = recordUnchecked, true
		return nil
	}
	if err := o.records.it.Err(); err != nil {
		return err
	}
	o.at = recordsEnd
	o.records.release()
	o.ids.release()
	return nil
}

// check compares the current record with the current placed document, and moves the one that comes first.
func (o *insertionOrder) check() error {
	if !o.onID && !o.idsEnd {
		if o.onID = o.ids.it.Next(); !o.onID {
			if err := o.ids.it.Err(); err != nil {
				return err
			}
			o.idsEnd = true
		}
	}
	if o.idsEnd {
		o.at = recordNext
		return nil
	}
	_, _, id, ok := keyspace.SplitRecord(o.records.it.Key())
	placed, also := keyspace.SplitPlaceOf(o.ids.it.Key())
	if !ok || !also {
		return storage.ErrCorruption
	}
	switch c := bytes.Compare(placed, id); {
	case c == 0:
		o.at, o.onID = recordDelivered, false // at its place
	case c < 0 != o.reverse:
		o.onID = false
	default:
		o.at = recordNext
	}
	return nil
}

// placedFirst reports whether the next document is the next placed one, and not the next record.
func (o *insertionOrder) placedFirst() bool {
	b := &o.batch
	if b.next == len(b.items) || o.at == recordsEnd {
		return b.next < len(b.items)
	}
	_, _, id, _ := keyspace.SplitRecord(o.records.it.Key())
	return bytes.Compare(b.items[b.next].after, id) < 0 != o.reverse
}

// ended reports, after advance, whether all documents were delivered.
func (o *insertionOrder) ended() bool { return o.at == recordsEnd && !o.placedFirst() }

// take delivers the next document after advance: the id of its record and, unless the caller only counts, the document;
// both are valid until the next call of advance.
func (o *insertionOrder) take(count bool) (id, doc []byte, err error) {
	if o.placedFirst() {
		x := &o.batch.items[o.batch.next]
		o.batch.next++
		return x.id, x.doc, nil
	}
	_, _, id, ok := keyspace.SplitRecord(o.records.it.Key())
	if !ok {
		return nil, nil, storage.ErrCorruption
	}
	if !count {
		if doc = o.records.it.Value(); doc == nil {
			return nil, nil, o.records.it.Err()
		}
	}
	o.at = recordDelivered
	return id, doc, nil
}

// collect reads the keys of the next batch of placed documents.
func (o *insertionOrder) collect() error {
	b := &o.batch
	clear(b.items)
	b.items, b.mem, b.next, b.read = b.items[:0], b.mem[:0], 0, false
	for len(b.items) < b.size && o.entries.it.Next() {
		if err := o.add(); err != nil {
			return err
		}
	}
	if len(b.items) == b.size {
		return nil
	}
	if err := o.entries.it.Err(); err != nil {
		return err
	}
	b.end = true
	o.entries.release()
	return nil
}

// add adds the current placed document to the batch.
func (o *insertionOrder) add() error {
	b := &o.batch
	key := b.keep(o.entries.it.Key())
	encoded, id, ok := keyspace.SplitPlaced(key, o.entries.it.Value())
	if err := o.entries.it.Err(); err != nil {
		return err
	}
	place, also := keyspace.SplitPlace(encoded)
	if !ok || !also {
		return storage.ErrCorruption
	}
	record := b.keep(keyspace.AppendRecord(nil, o.src.Coll.ID, o.hash, id))
	b.items = append(b.items, placedItem{entry: key, after: place.After, record: record, id: id})
	b.last = append(b.last[:0], key...)
	return nil
}

// lookUp reads the records of the batch.
func (b *placedBatch) lookUp(env *mql.Env, r storage.Reader) error {
	b.order = b.order[:0]
	for i := range b.items {
		b.order = append(b.order, int32(i))
	}
	slices.SortFunc(b.order, func(x, y int32) int { return bytes.Compare(b.items[x].record, b.items[y].record) })
	b.keys = b.keys[:0]
	for _, i := range b.order {
		b.keys = append(b.keys, b.items[i].record)
	}
	size := 0
	err := r.GetMany(env.Context(), b.keys, func(i int, value []byte) error {
		if value != nil {
			size += len(value)
			b.items[b.order[i]].doc = b.keep(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.read = true
	b.size = max(1, min(2*b.size, batchMost, pageBytes/(size/len(b.items)+1)))
	return nil
}

// keep copies bytes into the memory of the batch.
func (b *placedBatch) keep(v []byte) []byte {
	if cap(b.mem)-len(b.mem) < len(v) {
		b.mem = make([]byte, 0, max(len(v), min(2*cap(b.mem), pageBytes), 1<<10)) // earlier copies stay in the old memory
	}
	n := len(b.mem)
	b.mem = append(b.mem, v...)
	return b.mem[n:len(b.mem):len(b.mem)]
}

// park closes the iterators; open continues behind the last document that was delivered.
func (o *insertionOrder) park() {
	b := &o.batch
	if o.records.it != nil && o.moved {
		o.parkRecords()
	}
	switch {
	case b.next < len(b.items):
		o.rest.entries = from(o.rest.entries, b.items[b.next].entry, o.reverse)
		b.end = false
	case !b.end && b.last != nil:
		o.rest.entries = beyond(o.rest.entries, b.last, o.reverse)
	}
	*b = placedBatch{size: b.size, end: b.end}
	o.close()
	o.opened = false
}

func (o *insertionOrder) parkRecords() {
	key := o.records.it.Key()
	_, _, id, ok := keyspace.SplitRecord(key)
	if !ok {
		return // the next step reports it
	}
	o.rest.ids = from(o.rest.ids, keyspace.AppendPlaceOf(nil, o.src.Coll.ID, id), o.reverse)
	o.onID, o.idsEnd = false, false
	if o.at == recordDelivered {
		o.rest.records = beyond(o.rest.records, key, o.reverse)
	} else {
		o.rest.records = from(o.rest.records, key, o.reverse)
	}
	o.at, o.moved = recordDelivered, false
}

func (o *insertionOrder) close() {
	o.records.release()
	o.ids.release()
	o.entries.release()
}
