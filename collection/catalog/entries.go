package catalog

import "maps"

// entries finds the collections of a snapshot by a key. A change makes the next snapshot's from
// those of the one before, of which there may be ten thousand: what has changed lately lies in a small
// map on top of a large one that snapshots share. So a change costs about the square root of
// their number, where copying all of it cost milliseconds.
type entries[K comparable] struct {
	all map[K]*Collection // never changed
	top map[K]*Collection // changed since, nil for what is gone; only its snapshot's own
}

// topMin is how many changes lie on top at least before they are put below.
const topMin = 64

// fork is a copy that may be changed.
func (e entries[K]) fork() entries[K] {
	if n := len(e.top); n <= topMin || n*n <= len(e.all) {
		next := entries[K]{e.all, make(map[K]*Collection, n+1)}
		maps.Copy(next.top, e.top)
		return next
	}
	all := make(map[K]*Collection, len(e.all)+len(e.top))
	for k, c := range e.each {
		all[k] = c
	}
	return entries[K]{all, map[K]*Collection{}}
}

// get finds a collection, nil if there is none.
func (e entries[K]) get(k K) *Collection {
	if len(e.top) > 0 {
		if c, ok := e.top[k]; ok {
			return c
		}
	}
	return e.all[k]
}

// put adds or replaces a collection; nil takes it away.
func (e entries[K]) put(k K, c *Collection) { e.top[k] = c }

// each yields all in no order.
func (e entries[K]) each(yield func(K, *Collection) bool) {
	for k, c := range e.top {
		if c != nil && !yield(k, c) {
			return
		}
	}
	for k, c := range e.all {
		if _, newer := e.top[k]; !newer && !yield(k, c) {
			return
		}
	}
}
