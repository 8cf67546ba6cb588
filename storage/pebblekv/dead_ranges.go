package pebblekv

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

const (
	// deadRangesMax is the maximum number of dead ranges. At about 300 bytes each they take 80 KB.
	deadRangesMax = 256
	// deadKeyMax is the maximum length in bytes of the bounds of a dead range.
	deadKeyMax = 1 << 10
)

// deadRange is a range of keys in which no key lives, with the timestamp since which that is so: a fact about every
// snapshot from then on up to the next commit that sets a key in the range, which cuts it. It is immutable, except
// for used.
type deadRange struct {
	storage.Range
	since storage.Timestamp
	// reverse: the scan that found the range ran from its end to its start. A commit that sets a key in the range
	// leaves the part at which such a scan begins, its head, and the rest.
	reverse bool
	rest    bool          // the part behind the head; another cut shortens it, so that cuts do not fill the table
	used    atomic.Uint64 // value of deadRanges.uses when a scan last skipped the range
}

// deadRanges is the table of dead ranges, by which scans skip tombstones. The front of a queue has a tombstone for
// every document that was taken from it, until a flush and compactions remove them, and the scan for the next
// document would step over all of them. The table holds no more than scans have found since the store was opened.
//
// A scan reads the table after it has its snapshot. Commits cut the ranges of the keys that they set together with
// the publication of their timestamp, under store.mu; so a range in the table since t, read by a scan at a snapshot
// not older than t, had no key set in it by any commit that the scan sees.
type deadRanges struct {
	list    atomic.Pointer[[]*deadRange] // in order of keys, without overlaps; replaced under store.mu
	uses    atomic.Uint64
	pending *deadRange // being verified by learn; commits cut it too. Guarded by store.mu
	busy    sync.Mutex // held by learn
	// disabled: the table stays empty. Guarded by store.mu.
	disabled bool
}

// load returns the ranges that overlap with r, in order.
func (d *deadRanges) load(r storage.Range) []*deadRange {
	p := d.list.Load()
	if p == nil || len(*p) == 0 {
		return nil
	}
	list := *p
	from, _ := slices.BinarySearchFunc(list, r.Start, endsAbove)
	to, _ := slices.BinarySearchFunc(list[from:], r.End, func(g *deadRange, key []byte) int { return bytes.Compare(g.Start, key) })
	return list[from : from+to]
}

// endsAbove compares a range with a key, for a search of the first range that ends above the key.
func endsAbove(g *deadRange, key []byte) int {
	if bytes.Compare(g.End, key) <= 0 {
		return -1
	}
	return 1
}

// cut removes the keys that a commit has set from the ranges. The caller holds store.mu, and publishes the commit's
// timestamp before it releases store.mu.
func (d *deadRanges) cut(b *writebuf.Buffer) {
	if p := d.pending; p != nil {
		if first, last := b.SetsWithin(p.Range); first != nil {
			d.pending = p.head(first, last)
		}
	}
	p := d.list.Load()
	if p == nil || len(*p) == 0 || b.Len() == 0 {
		return
	}
	var cuts []*deadRange // ranges in which a key was set; few
	if b.Len() < len(*p) {
		for key, value := range b.All() {
			if value == nil {
				continue
			}
			if at, _ := slices.BinarySearchFunc(*p, key, endsAbove); at < len(*p) && (*p)[at].Contains(key) {
				if n := len(cuts); n == 0 || cuts[n-1] != (*p)[at] {
					cuts = append(cuts, (*p)[at])
				}
			}
		}
	} else {
		for _, g := range *p {
			if first, _ := b.SetsWithin(g.Range); first != nil {
				cuts = append(cuts, g)
			}
		}
	}
	if len(cuts) == 0 {
		return
	}
	list := make([]*deadRange, 0, len(*p)+len(cuts))
	for _, g := range *p {
		if len(cuts) == 0 || cuts[0] != g {
			list = append(list, g)
			continue
		}
		cuts = cuts[1:]
		first, last := b.SetsWithin(g.Range)
		list = g.appendParts(list, first, last)
	}
	list = list[:min(len(list), deadRangesMax)]
	d.list.Store(&list)
}

// head returns the part of the range that is left at the side where the scan began, when keys from first to last are
// set; nil if there is none.
func (g *deadRange) head(first, last []byte) *deadRange {
	part := storage.Range{Start: g.Start, End: bytes.Clone(first)}
	if g.reverse {
		part = storage.Range{Start: after(last), End: g.End}
	}
	if part.Empty() {
		return nil
	}
	return &deadRange{Range: part, since: g.since, reverse: g.reverse}
}

// appendParts appends to list what is left of the range, in order of keys, when keys from first to last are set: the
// head and the rest, or of a rest only its rest.
func (g *deadRange) appendParts(list []*deadRange, first, last []byte) []*deadRange {
	head := g.head(first, last)
	rest := &deadRange{Range: storage.Range{Start: after(last), End: g.End}, since: g.since, reverse: g.reverse, rest: true}
	if g.reverse {
		rest.Range = storage.Range{Start: g.Start, End: bytes.Clone(first)}
	}
	parts := []*deadRange{head, rest}
	if g.rest {
		parts[0] = nil
	}
	if g.reverse {
		slices.Reverse(parts)
	}
	for _, p := range parts {
		if p != nil && !p.Empty() {
			p.used.Store(g.used.Load())
			list = append(list, p)
		}
	}
	return list
}

// after returns the first key above key.
func after(key []byte) []byte { return append(key[:len(key):len(key)], 0) }

// disable empties the table for good, after a commit of which it is unknown whether its writes are in the store. The
// caller holds store.mu.
func (d *deadRanges) disable() {
	d.list.Store(nil)
	d.pending, d.disabled = nil, true
}

// add enters a range. Ranges that overlap with it become a part of it. Of ranges that touch each other, those are
// joined that hold in all snapshots from oldest on, the oldest that is open: joined earlier, they would be lost to
// older snapshots. The caller holds store.mu.
func (d *deadRanges) add(g *deadRange, oldest storage.Timestamp) {
	if d.disabled {
		return
	}
	var old []*deadRange
	if p := d.list.Load(); p != nil {
		old = *p
	}
	g.used.Store(d.uses.Add(1))
	list := make([]*deadRange, 0, len(old)+1)
	for _, o := range old {
		if !g.overlaps(o) {
			list = append(list, o)
			continue
		}
		g = g.joined(o)
	}
	at, _ := slices.BinarySearchFunc(list, g.Start, func(o *deadRange, key []byte) int { return bytes.Compare(o.Start, key) })
	list = joinTouching(slices.Insert(list, at, g), oldest)
	if len(list) > deadRangesMax {
		list = joinTouching(list, g.since) // no range is later than the one that was verified last
	}
	if len(list) > deadRangesMax {
		least := slices.MinFunc(list, func(a, b *deadRange) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
		list = slices.DeleteFunc(list, func(o *deadRange) bool { return o == least })
	}
	d.list.Store(&list)
}

// joinTouching joins neighbours of the list that touch each other and hold since a timestamp not later than oldest.
func joinTouching(list []*deadRange, oldest storage.Timestamp) []*deadRange {
	joined := list[:0]
	for _, g := range list {
		if n := len(joined); n > 0 && bytes.Equal(joined[n-1].End, g.Start) && max(joined[n-1].since, g.since) <= oldest {
			joined[n-1] = joined[n-1].joined(g)
			continue
		}
		joined = append(joined, g)
	}
	return joined
}

func (g *deadRange) overlaps(o *deadRange) bool {
	return bytes.Compare(g.Start, o.End) < 0 && bytes.Compare(o.Start, g.End) < 0
}

// joined returns the union of two ranges that overlap or touch each other.
func (g *deadRange) joined(o *deadRange) *deadRange {
	u := &deadRange{Range: g.Range, since: max(g.since, o.since), reverse: g.reverse}
	if bytes.Compare(o.Start, u.Start) < 0 {
		u.Start = o.Start
	}
	if bytes.Compare(o.End, u.End) > 0 {
		u.End = o.End
	}
	u.used.Store(max(g.used.Load(), o.used.Load()))
	return u
}

// learn enters into the table what a scan at some snapshot has found: that no key lived in a range. It verifies it
// at the newest state, because commits since that snapshot may have set keys there; those that come during the
// verification cut the range (cut). While another scan verifies a range, it does nothing.
func (s *store) learn(r storage.Range, reverse bool) {
	d := &s.dead
	if r.Empty() || max(len(r.Start), len(r.End)) > deadKeyMax || !d.busy.TryLock() {
		return
	}
	defer d.busy.Unlock()
	g := &deadRange{Range: storage.Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)}, reverse: reverse}
	v := &view{s: s}
	s.mu.Lock()
	if err := s.acquire(v, 0); err != nil {
		s.mu.Unlock()
		return
	}
	g.since = v.snap.ts
	d.pending = g
	s.mu.Unlock()

	living, ok := s.firstLiving(v, g)

	s.mu.Lock()
	g, d.pending = d.pending, nil
	if g != nil && living != nil && g.Contains(living) {
		g = g.head(living, living)
	}
	ps := v.release()
	if ok && g != nil {
		d.add(g, s.snaps.oldest())
	}
	s.mu.Unlock()
	s.anchor.close(ps)
}

// firstLiving returns the key in the range g that a scan of the view v finds first, nil if there is none. It returns
// false if an entry in the table would save nothing, because that scan skips few tombstones, and after an error.
func (s *store) firstLiving(v *view, g *deadRange) (key []byte, ok bool) {
	i, err := v.walk(g.Range, g.reverse)
	if err != nil {
		return nil, false
	}
	defer i.Close()
	i.skipper.watched = 0
	if i.Next() {
		key = bytes.Clone(i.Key())
	}
	return key, i.Err() == nil && (i.steps() > hiddenMax/2 || i.skipper.hops > hopsMax/2)
}
