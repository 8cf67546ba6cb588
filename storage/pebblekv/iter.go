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
	o       pebble.IterOptions
	it      *pebble.Iterator
	err     error
	reverse bool
	started bool
	done    bool // the end was reached; a further step of Pebble's iterator would start again
}

// Walk implements writebuf.Below.
func (v *view) Walk(_ context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	r = clip(r)
	if r.Empty() {
		r.End = r.Start // Pebble requires ordered bounds
	}
	i := &iterator{s: v.s, reverse: o.Reverse, o: pebble.IterOptions{LowerBound: r.Start, UpperBound: r.End}}
	var err error
	if i.it, err = v.s.pebble(v.snap).NewIter(&i.o); err != nil {
		return nil, i.s.translate(err)
	}
	v.s.iterators.Add(1)
	return i, nil
}

func (i *iterator) Next() bool {
	if i.done {
		return false
	}
	var ok bool
	switch {
	case i.started && i.reverse:
		ok = i.it.Prev()
	case i.started:
		ok = i.it.Next()
	case i.reverse:
		ok = i.it.Last()
	default:
		ok = i.it.First()
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
	var ok bool
	if i.reverse {
		// The first key above key is key and a zero byte.
		ok = i.it.SeekLT(append(key[:len(key):len(key)], 0))
	} else {
		ok = i.it.SeekGE(key)
	}
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
