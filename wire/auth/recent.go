package auth

import (
	"container/list"
	"time"
)

// recent is a bounded LRU table. The zero recent is empty. Not safe for concurrent use.
type recent[V any] struct {
	at    map[uint64]*list.Element
	order list.List // of *dated[V], oldest first
}

// dated is an entry of a table.
type dated[V any] struct {
	key   uint64
	value V
	put   time.Time
}

// get finds an entry and makes it the most recently used one.
func (r *recent[V]) get(key uint64) (v V, ok bool) {
	e := r.at[key]
	if e == nil {
		return v, false
	}
	r.order.MoveToBack(e)
	return e.Value.(*dated[V]).value, true
}

// when returns the time at which an entry was put.
func (r *recent[V]) when(key uint64) (time.Time, bool) {
	e := r.at[key]
	if e == nil {
		return time.Time{}, false
	}
	return e.Value.(*dated[V]).put, true
}

// put adds or replaces an entry. If the table has max entries, put removes the least recently used
// one for which may returns true.
func (r *recent[V]) put(key uint64, v V, max int, may func(V) bool) {
	if r.at == nil {
		r.at = map[uint64]*list.Element{}
	}
	r.drop(key)
	if len(r.at) >= max {
		for e := r.order.Front(); e != nil; e = e.Next() {
			if old := e.Value.(*dated[V]); may(old.value) {
				r.drop(old.key)
				break
			}
		}
	}
	r.at[key] = r.order.PushBack(&dated[V]{key, v, time.Now()})
}

// drop removes an entry, if there is one.
func (r *recent[V]) drop(key uint64) {
	if e := r.at[key]; e != nil {
		r.order.Remove(e)
		delete(r.at, key)
	}
}
