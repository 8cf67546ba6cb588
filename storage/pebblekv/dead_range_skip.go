package pebblekv

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

const (
	// hiddenMax is the number of hidden entries, tombstones and the entries that they delete, over which one movement
	// of an iterator may step before their range becomes a dead range. It takes about five microseconds.
	hiddenMax = 64
	// hopsMax is the number of dead ranges that one movement may skip before they become one.
	hopsMax = 8
	// watchedMax is the number of movements of an iterator whose hidden entries are counted. In longer scans, the
	// entries that live take most of the time.
	watchedMax = 8
)

// deadRangeSkipper is the part of an iterator that skips dead ranges, and finds new ones.
type deadRangeSkipper struct {
	ranges  []*deadRange      // that may lie before the iterator, in order of keys
	at      storage.Timestamp // of the snapshot
	limit   []byte            // the bound of the next dead range at which the iterator will reach it; nil if there is none
	steps   int               // steps of Pebble's iterator before this movement
	hops    int               // dead ranges skipped by this movement
	watched int               // movements whose hidden entries are still to be counted
	from    []byte            // the key at which the movement began; in fromBuf if it fits
	fromBuf [48]byte
}

// idle reports whether the iterator can step without the skipper.
func (k *deadRangeSkipper) idle() bool { return k.watched == 0 && k.limit == nil }

// pass returns the place from which the iterator has to seek to find the next living key from key on, beyond the dead
// ranges that begin there, and sets the limit to the next dead range.
func (k *deadRangeSkipper) pass(uses uint64, key []byte, reverse bool) []byte {
	k.limit = nil
	for len(k.ranges) > 0 {
		n := len(k.ranges) - 1
		g, others := k.ranges[0], k.ranges[1:]
		if reverse {
			g, others = k.ranges[n], k.ranges[:n]
		}
		begin, end := g.Start, g.End
		behind := bytes.Compare(end, key) <= 0
		reached := bytes.Compare(begin, key) <= 0
		if reverse { // the iterator seeks below key
			begin, end = g.End, g.Start
			behind = bytes.Compare(end, key) >= 0
			reached = bytes.Compare(begin, key) >= 0
		}
		if !behind && g.since <= k.at {
			if !reached {
				k.limit = begin
				break
			}
			key = end
			if g.used.Load() != uses {
				g.used.Store(uses)
			}
		}
		k.ranges = others
	}
	return key
}

// first moves to the first living key within the bounds; with reverse, to the last one.
func (i *iterator) first() bool {
	switch {
	case len(i.skipper.ranges) > 0 && i.reverse:
		return i.seek(i.o.UpperBound)
	case len(i.skipper.ranges) > 0:
		return i.seek(i.o.LowerBound)
	case i.reverse:
		return i.arrive(i.o.UpperBound, i.it.Last())
	}
	return i.arrive(i.o.LowerBound, i.it.First())
}

// seek moves to the first living key from key on; with reverse, to the last one below key.
func (i *iterator) seek(key []byte) bool {
	from := i.skipper.pass(i.s.dead.uses.Load(), key, i.reverse)
	return i.arrive(from, i.seekLiving(from))
}

// seekLiving is seek from a key that is not in a dead range.
func (i *iterator) seekLiving(key []byte) bool {
	k := &i.skipper
	for {
		var state pebble.IterValidityState
		if i.reverse {
			state = i.it.SeekLTWithLimit(key, k.limit)
		} else {
			state = i.it.SeekGEWithLimit(key, k.limit)
		}
		if state != pebble.IterAtLimit {
			return state == pebble.IterValid
		}
		key = k.pass(i.s.dead.uses.Load(), k.limit, i.reverse)
		k.hops++
	}
}

// step moves to the next living key.
func (i *iterator) step() bool {
	k := &i.skipper
	if k.watched > 0 {
		if k.from == nil {
			k.from = k.fromBuf[:0]
		}
		if k.from = append(k.from[:0], i.it.Key()...); !i.reverse {
			k.from = append(k.from, 0)
		}
	}
	var state pebble.IterValidityState
	if i.reverse {
		state = i.it.PrevWithLimit(k.limit)
	} else {
		state = i.it.NextWithLimit(k.limit)
	}
	ok := state == pebble.IterValid
	if state == pebble.IterAtLimit {
		k.hops++
		ok = i.seekLiving(k.pass(i.s.dead.uses.Load(), k.limit, i.reverse))
	}
	return i.arrive(k.from, ok)
}

// arrive ends a movement that began at from, and returns ok, whether it found a key. If the movement took long because
// of tombstones, the keys between become a dead range.
func (i *iterator) arrive(from []byte, ok bool) bool {
	k := &i.skipper
	if ok && k.limit != nil {
		// Pebble may ignore a limit; then the range behind it has been passed. A key at the end of a range lies outside
		// of it, so a reverse scan that is there has still to skip the range.
		if c := bytes.Compare(i.it.Key(), k.limit); c != 0 && (c > 0) != i.reverse {
			k.pass(i.s.dead.uses.Load(), i.it.Key(), i.reverse)
		}
	}
	if k.watched == 0 {
		return ok
	}
	k.watched--
	steps := i.steps()
	if steps-k.steps > hiddenMax || k.hops > hopsMax {
		i.learn(from, ok)
	}
	k.steps, k.hops = steps, 0
	return ok
}

// learn makes the keys between from and the present entry, or without one the bound, a dead range.
func (i *iterator) learn(from []byte, ok bool) {
	if i.it.Error() != nil {
		return
	}
	r := storage.Range{Start: from, End: i.o.UpperBound}
	if i.reverse {
		r = storage.Range{Start: i.o.LowerBound, End: from}
	}
	if ok && i.reverse {
		r.Start = after(i.it.Key())
	} else if ok {
		r.End = i.it.Key()
	}
	i.s.learn(r, i.reverse)
}

// steps returns the number of entries over which Pebble's iterator has stepped, the hidden ones included.
func (i *iterator) steps() int {
	st := i.it.Stats()
	return st.ForwardStepCount[pebble.InternalIterCall] + st.ReverseStepCount[pebble.InternalIterCall]
}
