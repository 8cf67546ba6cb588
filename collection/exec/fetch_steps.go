package exec

import (
	"bytes"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// The records of a batch whose rows come in the order of records are read by the steps of one iterator while they lie
// close together. A step costs about a tenth of a lookup.
const (
	stepsKeysMin   = 32 // least number of records of such a batch
	stepsFirst     = 16 // steps for the first record of a batch
	stepsPerRecord = 8  // further steps for each record
	stepsPause     = 4  // number of batches that are looked up after one whose records were too far apart
)

// readRecords reads the records of the batch, whose keys are sorted, and calls take with each.
func (f *fetch) readRecords(env *mql.Env) error {
	a := f.ahead
	read := 0
	if len(a.keys) >= stepsKeysMin && a.ordered {
		if _, remote := f.src.Reader.(storage.Fetcher); f.apart > 0 || remote {
			f.apart = max(0, f.apart-1)
		} else {
			var err error
			if read, err = f.readBySteps(env); err != nil {
				return err
			}
		}
	}
	switch read {
	case 0:
		return f.src.Reader.GetMany(env.Context(), a.keys, a.emit)
	case len(a.keys):
		return nil
	}
	f.apart = stepsPause
	return f.src.Reader.GetMany(env.Context(), a.keys[read:], func(i int, value []byte) error { return f.take(read+i, value) })
}

// readBySteps reads the records of the batch, whose keys ascend, by an iterator, and returns how many of them it has
// read: all, unless the records lie too far apart.
func (f *fetch) readBySteps(env *mql.Env) (read int, err error) {
	a := f.ahead
	last := a.keys[len(a.keys)-1]
	within := storage.Range{Start: a.keys[0], End: append(last[:len(last):len(last)], 0)}
	it, err := f.src.Reader.Iter(env.Context(), within, storage.IterOptions{FetchRows: len(a.keys)})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	steps, on := stepsFirst, it.Next()
	for i, key := range a.keys {
		steps += stepsPerRecord
		for on && bytes.Compare(it.Key(), key) < 0 {
			if steps--; steps < 0 {
				return i, nil
			}
			on = it.Next()
		}
		var value []byte // nil: never within one snapshot
		if on && bytes.Equal(it.Key(), key) {
			value = it.Value()
		}
		if err := it.Err(); err != nil {
			return i, err
		}
		if err := f.take(i, value); err != nil {
			return i, err
		}
	}
	return len(a.keys), nil
}
