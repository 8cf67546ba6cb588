package order

import (
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// Tuples enumerates the tuples of values that several paths have in one document: one tuple if there is no array on
// the paths, otherwise one for each element of the array on the paths, with arrays further on the paths expanded too.
// A value that does not exist is missing (an index and a sort read it as null), and an empty array at the end of a
// path is undefined. A component that is a position of the current array selects only that element.
// Manual: core/indexes/index-types/index-multikey.
//
// Borrow returns a Tuples from a pool, Release puts it back; not safe for concurrent use.
type Tuples struct {
	paths  []path.Path
	values []bson.Value
	// arrays records the arrays that were expanded: bit i of element f is set if component i of path f held one.
	arrays []uint64
	state  []pathState
}

// pathState is the state of one path while Tuples follows it through a document: the current value and the next
// component.
type pathState struct {
	v    bson.Value
	next int
	open bool // v is an array to be expanded
}

var pool = sync.Pool{New: func() any { return new(Tuples) }}

// Borrow returns a Tuples with its memory from the pool.
func Borrow() *Tuples { return pool.Get().(*Tuples) }

// Release returns t to the pool.
func (t *Tuples) Release() {
	clear(t.values)
	clear(t.state[:cap(t.state)])
	t.paths = nil
	pool.Put(t)
}

// Arrays returns, for each path of the last call of Each, the components that held arrays: bit i for component i
// (components beyond 63 share the last bit).
func (t *Tuples) Arrays() []uint64 { return t.arrays }

// Descend follows the path p through documents, from the value v on, whose next component is next. It stops at the
// end of the path (at == p.Len()), at an array, or if there is no further value (missing).
func Descend(v bson.Value, p path.Path, next int) (at int, _ bson.Value) {
	for n := p.Len(); next < n; next++ {
		switch v.Type {
		case bson.TypeDocument:
			v, _ = bson.Raw(v.Data).Lookup(p.Name(next))
		case bson.TypeArray:
			return next, v
		default:
			return n, bson.Value{}
		}
	}
	return next, v
}

// Each calls yield for every tuple of values that paths have in doc; the values are valid only during the call and
// alias doc. parallel reports that two paths lead through different arrays; then the enumeration is incomplete. err
// is the error of yield.
func (t *Tuples) Each(doc bson.Raw, paths []path.Path, yield func(values []bson.Value) error) (parallel bool, err error) {
	n := len(paths)
	t.paths = paths
	t.values = grown(t.values, n)
	t.arrays = grown(t.arrays, n)
	clear(t.arrays)
	t.state = t.state[:0]
	frame := t.push(n)
	for i := range frame {
		frame[i] = pathState{v: doc.Value()}
	}
	return t.step(0, yield)
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// push adds a frame of n places to the stack.
func (t *Tuples) push(n int) []pathState {
	base := len(t.state)
	for range n {
		t.state = append(t.state, pathState{})
	}
	return t.state[base:]
}

// step advances all paths, whose states begin at base, and expands the array that they have in common, if there is
// one; else it yields a tuple.
func (t *Tuples) step(base int, yield func([]bson.Value) error) (parallel bool, err error) {
	n := len(t.paths)
	var array bson.Value
	for i := range n {
		pl := &t.state[base+i]
		t.advance(i, pl)
		if !pl.open {
			continue
		}
		if array.Type == 0 {
			array = pl.v
		} else if &array.Data[0] != &pl.v.Data[0] {
			return true, nil
		}
	}
	if array.Type == 0 {
		for i := range n {
			t.values[i] = t.state[base+i].v
		}
		return false, yield(t.values)
	}
	return t.expand(base, bson.Raw(array.Data), yield)
}

// advance follows the path i to its last value, or to an array that must be expanded.
func (t *Tuples) advance(i int, pl *pathState) {
	p := t.paths[i]
	for !pl.open && pl.next < p.Len() {
		pl.next, pl.v = Descend(pl.v, p, pl.next)
		if pl.v.Type != bson.TypeArray {
			pl.next = p.Len()
			return
		}
		if v, ok := p.Element(bson.Raw(pl.v.Data), pl.next); ok {
			pl.v = v
			if pl.next++; pl.next < p.Len() && v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
				pl.v, pl.next = bson.Value{}, p.Len()
				return
			}
			continue // at the end of the path, an element selected by position is one value
		}
		pl.open = true
	}
	if pl.open {
		t.arrays[i] |= 1 << min(pl.next-1, 63)
	}
}

// expand continues with each element of arr in those paths that have reached this array.
func (t *Tuples) expand(base int, arr bson.Raw, yield func([]bson.Value) error) (parallel bool, err error) {
	n := len(t.paths)
	t.push(n)
	child := base + n
	if arr.IsEmpty() {
		for i := range n {
			pl := t.state[base+i]
			if pl.open {
				pl.open = false
				if pl.next == t.paths[i].Len() {
					pl.v = bson.Value{Type: bson.TypeUndefined}
				} else {
					pl.v, pl.next = bson.Value{}, t.paths[i].Len()
				}
			}
			t.state[child+i] = pl
		}
		parallel, err = t.step(child, yield)
		t.state = t.state[:child]
		return parallel, err
	}
	for it := arr.Iter(); it.Next(); {
		for i := range n {
			pl := t.state[base+i]
			if pl.open {
				pl.open = false
				pl.v = it.Value
				if pl.next < t.paths[i].Len() && pl.v.Type != bson.TypeDocument {
					pl.v, pl.next = bson.Value{}, t.paths[i].Len()
				}
			}
			t.state[child+i] = pl
		}
		if parallel, err = t.step(child, yield); parallel || err != nil {
			break
		}
	}
	t.state = t.state[:child]
	return parallel, err
}

// leaf converts a missing value to null.
func leaf(v bson.Value) bson.Value {
	if v.Type == bson.TypeMissing {
		return bson.Null
	}
	return v
}
