//go:build invariants

package writebuf

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/storage"
)

// Guard wraps an iterator with checks for tests: it overwrites keys and values at the next step, so that a late
// use shows, and panics if keys are not in order, or at a step after Close.
func Guard(it storage.Iterator) storage.Iterator {
	if again, ok := it.(storage.RangeSetter); ok {
		return &rangeGuard{guard{it: it}, again}
	}
	return &guard{it: it}
}

// rangeGuard is the guard of an iterator that can be moved to another range.
type rangeGuard struct {
	guard
	again storage.RangeSetter
}

// SetRange implements storage.RangeSetter.
func (g *rangeGuard) SetRange(r storage.Range) {
	g.leave()
	if g.again.Err() != nil {
		panic("BUG: storage: failed iterator used again")
	}
	g.last, g.dir = nil, 0
	r.Start, r.End = bytes.Clone(r.Start), bytes.Clone(r.End)
	g.again.SetRange(r)
	poison(r.Start)
	poison(r.End)
}

type guard struct {
	it         storage.Iterator
	key, value []byte
	last       []byte
	dir        int
	closed     bool
}

// SetContext see storage.ContextSetter.
func (g *guard) SetContext(ctx context.Context) {
	if it, ok := g.it.(storage.ContextSetter); ok {
		it.SetContext(ctx)
	}
}

func (g *guard) Next() bool { g.leave(); return g.enter(g.it.Next(), false) }
func (g *guard) Seek(key []byte) bool {
	k := bytes.Clone(key)
	g.leave()
	return g.enter(g.it.Seek(k), true)
}
func (g *guard) Key() []byte { return g.key }
func (g *guard) Err() error  { return g.it.Err() }

func (g *guard) Value() []byte {
	if g.value == nil {
		g.value = bytes.Clone(g.it.Value())
	}
	return g.value
}

func (g *guard) Close() {
	if !g.closed {
		g.leave()
		g.closed = true
		g.it.Close()
	}
}

func (g *guard) leave() {
	if g.closed {
		panic("BUG: storage: iterator used after Close")
	}
	poison(g.key)
	poison(g.value)
	g.key, g.value = nil, nil
}

func (g *guard) enter(ok, seek bool) bool {
	if !ok {
		return false
	}
	g.key = bytes.Clone(g.it.Key())
	c := bytes.Compare(g.key, g.last)
	if g.last != nil && !(seek && c == 0) {
		if c == 0 || g.dir != 0 && c != g.dir {
			panic("BUG: storage: iterator out of order")
		}
		g.dir = c
	}
	g.last = append(g.last[:0], g.key...)
	return true
}
