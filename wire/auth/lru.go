package auth

import (
	"container/list"
	"time"
)

// lruTable is a table with a bounded number of entries, from which the least recently used ones are removed. The
// zero lruTable is empty. Not safe for concurrent use.
type lruTable[V any] struct {
	at    map[uint64]*list.Element
	order list.List // of *lruEntry[V], oldest first
}

// lruEntry is an entry of a table.
type lruEntry[V any] struct {
	key   uint64
	value V
	put   time.Time
}

// get returns the value of an entry, and makes the entry the most recently used one.
func (r *lruTable[V]) get(key uint64) (v V, ok bool) {
	e := r.at[key]
	if e == nil {
		return v, false
	}
	r.order.MoveToBack(e)
	return e.Value.(*lruEntry[V]).value, true
}

// putTime returns the time at which an entry was put.
func (r *lruTable[V]) putTime(key uint64) (time.Time, bool) {
	e := r.at[key]
	if e == nil {
		return time.Time{}, false
	}
	return e.Value.(*lruEntry[V]).put, true
}

// put adds or replaces an entry. If the table already has max entries, put removes the least recently used entry for
// whose value the function may returns true; if there is none, the table exceeds max.
func (r *lruTable[V]) put(key uint64, v V, max int, may func(V) bool) {
	if r.at == nil {
		r.at = map[uint64]*list.Element{}
	}
	r.drop(key)
	if len(r.at) >= max {
		for e := r.order.Front(); e != nil; e = e.Next() {
			if old := e.Value.(*lruEntry[V]); may(old.value) {
				r.drop(old.key)
				break
			}
		}
	}
	r.at[key] = r.order.PushBack(&lruEntry[V]{key, v, time.Now()})
}

// drop removes an entry, if there is one.
func (r *lruTable[V]) drop(key uint64) {
	if e := r.at[key]; e != nil {
		r.order.Remove(e)
		delete(r.at, key)
	}
}
