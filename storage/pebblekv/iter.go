package pebblekv

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// iterator implements storage.Iterator over one snapshot.
type iterator struct {
	s       *store
	o       pebble.IterOptions // with bounds in the memory of the iterator
	it      *pebble.Iterator
	err     error
	skipper deadRangeSkipper
	reverse bool
	started bool
	done    bool // the end was reached; a further step of Pebble's iterator would start again
	buf     [96]byte
}

// Walk implements writebuf.Below.
func (v *view) Walk(_ context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	i, err := v.walk(r, o.Reverse)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// walk opens an iterator over a range of the view's snapshot.
func (v *view) walk(r storage.Range, reverse bool) (*iterator, error) {
	i := &iterator{s: v.s, reverse: reverse}
	r = i.setBounds(r)
	var err error
	if i.it, err = v.s.pebble(v.snap).NewIter(&i.o); err != nil {
		return nil, i.s.translate(err)
	}
	i.skipper = deadRangeSkipper{ranges: v.s.dead.load(r), at: v.snap.ts, watched: watchedMax}
	v.s.iterators.Add(1)
	return i, nil
}

// setBounds copies the bounds of a range into the memory of the iterator, and returns the range in the form that Pebble
// requires: with ordered bounds.
func (i *iterator) setBounds(r storage.Range) storage.Range {
	if r = clip(r); r.Empty() {
		r.End = r.Start
	}
	bounds := append(append(i.buf[:0], r.Start...), r.End...)
	n := len(r.Start)
	i.o.LowerBound, i.o.UpperBound = bounds[:n:n], bounds[n:]
	return r
}

// SetRange implements storage.RangeSetter.
func (i *iterator) SetRange(r storage.Range) {
	r = i.setBounds(r)
	i.it.SetBounds(i.o.LowerBound, i.o.UpperBound)
	i.skipper = deadRangeSkipper{ranges: i.s.dead.load(r), at: i.skipper.at, watched: watchedMax, steps: i.steps()}
	i.started, i.done = false, false
}

func (i *iterator) Next() bool {
	if i.done {
		return false
	}
	var ok bool
	switch {
	case !i.started:
		ok = i.first()
	case i.skipper.idle() && i.reverse:
		ok = i.it.Prev()
	case i.skipper.idle():
		ok = i.it.Next()
	default:
		ok = i.step()
	}
	i.started, i.done = true, !ok
	return ok
}

func (i *iterator) Seek(key []byte) bool {
	if i.done {
		return false
	}
	if i.started { // on an entry
		if c := bytes.Compare(i.it.Key(), key); c == 0 || (c > 0) != i.reverse {
			return true
		}
	}
	if i.reverse {
		key = after(key) // Pebble seeks a key below it
	}
	ok := i.seek(key)
	i.started, i.done = true, !ok
	return ok
}

func (i *iterator) Key() []byte { return i.it.Key() }

func (i *iterator) Value() []byte {
	v, err := i.it.ValueAndErr()
	if err != nil {
		i.err, i.done = i.s.translate(err), true
		return nil
	}
	return v
}

func (i *iterator) Err() error {
	if i.err != nil || i.it == nil {
		return i.err
	}
	return i.s.translate(i.it.Error())
}

func (i *iterator) Close() {
	if i.it == nil {
		return
	}
	if err := i.it.Close(); err != nil && i.err == nil {
		i.err = i.s.translate(err)
	}
	i.it, i.done = nil, true
	i.s.iterators.Add(-1)
}
