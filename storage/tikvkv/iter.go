package tikvkv

import (
	"bytes"
	"context"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// iterator implements storage.Iterator over a range of keys, which it fetches page by page, with one request for each
// page. The first page has 32 rows unless the caller passes FetchRows; each following page requests up to twice as
// many, at most 1,024 rows and about 2 MiB.
type iterator struct {
	v        *view
	ctx      context.Context
	r        storage.Range // the rest of the range, after the page
	o        storage.IterOptions
	page     page
	at       int // in page
	rows     int // of the next page
	value    []byte
	hasValue bool
	err      error
	more     bool // there may be rows after the page
	started  bool
	done     bool
	closed   bool
}

// pageRowsFirst is the number of rows of an iterator's first page, pageBytes the size that later pages aim at, in
// bytes.
const (
	pageRowsFirst = 32
	pageBytes     = 2 << 20
)

// Walk implements writebuf.Below.
func (v *view) Walk(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	v.rows.snapshots.countIterators(1)
	i := &iterator{v: v, ctx: ctx, o: o, rows: pageRowsFirst, more: !r.Empty()}
	i.r.Start = bytes.Clone(r.Start)
	if r.End != nil {
		i.r.End = append([]byte{}, r.End...)
	}
	if o.FetchRows > 0 {
		i.rows = min(o.FetchRows, pageRowsMax)
	}
	return i, nil
}

// SetContext see storage.ContextSetter.
func (i *iterator) SetContext(ctx context.Context) { i.ctx = ctx }

func (i *iterator) Next() bool {
	if i.done || i.closed {
		return false
	}
	if i.started {
		i.at++
	}
	i.started, i.hasValue = true, false
	return i.settle()
}

// settle fetches pages until there is a row at i.at, the iterator's index within the page. It returns false at the
// end of the range and after an error.
func (i *iterator) settle() bool {
	for i.at >= len(i.page.keys) {
		if !i.more {
			i.done = true
			return false
		}
		if !i.fetch() {
			return false
		}
	}
	return true
}

// fetch gets the next page.
func (i *iterator) fetch() bool {
	start, end := i.v.rows.keys.users(i.r)
	if i.err = i.v.Check(i.ctx); i.err == nil {
		i.page, i.err = i.v.rows.page(i.ctx, i.v.ts, pageRequest{start: start, end: end, reverse: i.o.Reverse, keysOnly: i.o.KeysOnly, rows: i.rows})
	}
	if i.err != nil {
		i.done = true
		return false
	}
	size := 0
	for n, key := range i.page.keys {
		size += len(i.page.values[n])
		i.page.keys[n] = i.v.rows.keys.userKeyOf(key)
	}
	i.at, i.more = 0, i.page.next != nil
	if i.more {
		next := bytes.Clone(i.v.rows.keys.userKeyOf(i.page.next))
		if i.o.Reverse {
			i.r.End = next
		} else {
			i.r.Start = next
		}
	}
	if n := len(i.page.keys); n > 0 {
		i.rows = min(2*i.rows, pageRowsMax, max(2, pageBytes/(size/n+1)))
	}
	return true
}

func (i *iterator) Seek(key []byte) bool {
	if i.done || i.closed {
		return false
	}
	i.hasValue = false
	if i.started {
		if c := bytes.Compare(i.page.keys[i.at], key); c == 0 || (c > 0) != i.o.Reverse {
			return true
		}
	}
	i.started = true
	// Is the key in the current page?
	rest := i.page.keys[i.at:]
	n, found := slices.BinarySearchFunc(rest, key, func(k, key []byte) int {
		if i.o.Reverse {
			return bytes.Compare(key, k)
		}
		return bytes.Compare(k, key)
	})
	i.at += n
	if found || n < len(rest) || !i.more {
		return i.settle()
	}
	// The key is beyond the page: the rest of the range now begins, or in reverse ends, at the key.
	if !i.o.Reverse && bytes.Compare(key, i.r.Start) > 0 {
		i.r.Start = bytes.Clone(key)
	}
	if i.o.Reverse && (i.r.End == nil || bytes.Compare(key, i.r.End) < 0) {
		i.r.End = append(bytes.Clone(key), 0)
	}
	if i.r.Empty() {
		i.done = true
		return false
	}
	return i.settle()
}

func (i *iterator) Key() []byte { return i.page.keys[i.at] }

func (i *iterator) Value() []byte {
	if i.hasValue || i.at >= len(i.page.keys) {
		return i.value
	}
	stored := i.page.values[i.at]
	if len(stored) > 1 && stored[0] == valuePlain {
		return stored[1:]
	}
	if i.value, i.err = i.v.value(i.ctx, i.page.keys[i.at], stored, i.value[:0]); i.err != nil {
		i.done = true
		return nil
	}
	i.hasValue = true
	return i.value
}

func (i *iterator) Err() error { return i.err }

func (i *iterator) Close() {
	if i.closed {
		return
	}
	i.closed = true
	i.v.rows.snapshots.countIterators(-1)
}
