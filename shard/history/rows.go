package history

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/ratelimit"
)

// RowsMax is the maximum number of partitions that have rows of their own at a time.
const RowsMax = 512

const (
	// idleSeconds is the time without work after which a row may be given to another partition: as
	// long as the longest column, so that no column has the work of two partitions, unless they share the row.
	idleSeconds = 300
	// staysMax bounds how many partitions a row keeps, the present one included.
	staysMax = 16
)

// Part is a partition as the history stores it, also long after it ceased to exist. Immutable.
type Part struct {
	Place     ratelimit.ShardID
	Namespace string
	Lo, Hi    string  // its range as documents of the shard key, "" for an unsharded collection
	From, To  float64 // its range as parts of the line of all hashes, from 0 to 1; both 0 under a ranged key
	Sort      string  // orders the partitions of one collection
	Others    int     // further partitions that share its row, since there are too many
}

// stay is the time during which a partition had a row, in seconds since 1970. until is 0 while the stay lasts.
type stay struct {
	part        *Part
	from, until int64
}

// row is one row of the history: the stays of the partitions that have had it, the latest last.
type row struct {
	stays []stay
	used  int64 // the last second with work
}

// now returns the current stay, nil for none.
func (w *row) now() *stay {
	if n := len(w.stays); n > 0 && w.stays[n-1].until == 0 {
		return &w.stays[n-1]
	}
	return nil
}

// rows assigns rows to partitions.
type rows struct {
	list   []row
	rowOf  map[ratelimit.ShardID]int
	shared map[ratelimit.ShardID]bool // partitions that share the row of another
}

// of returns the row of a partition that has work in a second.
func (r *rows) of(p *Part, second int64) int {
	i, ok := r.rowOf[p.Place]
	if !ok {
		if i, ok = r.freeRow(second); ok {
			r.settle(i, p, second)
		} else {
			i = r.shareRow(p)
			r.shared[p.Place] = true
		}
		r.rowOf[p.Place] = i
	}
	r.list[i].used = second
	return i
}

// freeRow finds a row for a new partition: an unused row, or the one that has been idle for longest. It returns false
// if all have had work within idleSeconds.
func (r *rows) freeRow(second int64) (int, bool) {
	if len(r.list) < RowsMax {
		r.list = append(r.list, row{})
		return len(r.list) - 1, true
	}
	best := -1
	for i := range r.list {
		if w := &r.list[i]; second-w.used > idleSeconds && (best < 0 || w.used < r.list[best].used) {
			best = i
		}
	}
	return best, best >= 0
}

// settle gives a row to a partition.
func (r *rows) settle(i int, p *Part, second int64) {
	w := &r.list[i]
	if s := w.now(); s != nil {
		s.until = max(s.from, w.used) + 1
		delete(r.rowOf, s.part.Place)
	}
	if len(w.stays) >= staysMax {
		w.stays = slices.Delete(w.stays, 0, len(w.stays)-staysMax+1)
	}
	w.stays = append(w.stays, stay{part: p, from: second})
}

// shareRow finds the row that a partition shares with another if no row is free: one of its collection, the nearest
// below or the nearest above, on the side on which the first row of the collection is; if there is none, the last row.
func (r *rows) shareRow(p *Part) int {
	best := -1
	for i := range r.list {
		s := r.list[i].now()
		if s == nil || s.part.Place.Collection != p.Place.Collection {
			continue
		}
		below := s.part.Sort <= p.Sort
		if best < 0 || below == (s.part.Sort > r.list[best].now().part.Sort) {
			best = i
		}
	}
	if best < 0 {
		best = len(r.list) - 1
	}
	if s := r.list[best].now(); s != nil {
		shared := *s.part
		shared.Others++
		s.part = &shared
	}
	return best
}

// endStay ends the stay of a partition that no longer exists.
func (r *rows) endStay(p ratelimit.ShardID, second int64) {
	i, ok := r.rowOf[p]
	if !ok {
		return
	}
	delete(r.rowOf, p)
	if r.shared[p] {
		delete(r.shared, p)
	} else if s := r.list[i].now(); s != nil {
		s.until = max(second, s.from+1)
	}
}

// reclaim ends the sharing of rows, so that partitions get rows of their own if some are free
// again.
func (r *rows) reclaim() {
	for p := range r.shared {
		delete(r.rowOf, p)
	}
	clear(r.shared)
	for i := range r.list {
		if s := r.list[i].now(); s != nil && s.part.Others > 0 {
			alone := *s.part
			alone.Others = 0
			s.part = &alone
		}
	}
}

// byPlace orders partitions for display: by collection, then by range.
func byPlace(a, b *Part) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Place.Collection, b.Place.Collection), cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Place.Shard, b.Place.Shard))
}
