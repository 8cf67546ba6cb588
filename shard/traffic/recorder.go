package traffic

import (
	"container/heap"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Bounds of the sample.
const (
	minutesKept    = 60
	samplesMax     = 1024 // of a minute
	samplesOf      = 128  // of a collection in a minute, if there are few collections
	samplesLeast   = samplesMax / collectionsMax
	collectionsMax = 64 // in a minute
)

// Recorder keeps a sample of requests. The zero Recorder is ready. Safe for concurrent use.
type Recorder struct {
	now     atomic.Pointer[minute] // the minute that is being filled
	mu      sync.Mutex
	minutes [minutesKept]*minute // at their number modulo the length
	paths   paths
}

// minute holds the sample of one minute.
type minute struct {
	at   int64 // minutes since 1970
	bins atomic.Pointer[map[collection.Namespace]*bin]
	room atomic.Int64 // maximum number of statements of one collection
}

// bin holds the sample of one collection in one minute: at most room+1 statements. If there are more than room, the one
// with the lowest priority only determines the weight of the others.
type bin struct {
	floor     atomic.Uint64 // bits of the priority that a statement must exceed
	count     atomic.Int64  // number of all statements
	mu        sync.Mutex
	list      samples
	truncated bool           // some were left out
	seen      map[value]bool // only while the minute is being filled
	texts     map[value]string
}

// sample is one statement.
type sample struct {
	priority float64
	ru       float64 // RU that it cost, or would have cost
	visits   float32 // number of visits of partitions, included in the cost
	kind     kind
	values   []value
}

// kind is a set of properties of a statement.
type kind uint8

// The properties.
const (
	isDocument kind = 1 << iota // it concerns one document, whose fields are known
	isWrite
	isPage // it continues a query
	isCut  // it has more fields than were kept
)

// Statement is one statement of a request.
type Statement struct {
	NS collection.Namespace
	At time.Time
	// RU is the cost of the statement; if it was refused, the cost of similar ones. Visits is the
	// number of visits of partitions in that cost.
	RU     float64
	Visits float64
	// Filter selects the documents of the statement; Document is its only document, in place of a
	// filter.
	Filter, Document bson.Raw
	Write            bool
	Page             bool // of a cursor whose query came before
}

// Note counts a statement that has a cost, and keeps it if its priority is high enough. It ignores further
// collections of a minute that has collectionsMax.
func (r *Recorder) Note(s *Statement) {
	if !(s.RU > 0) {
		return
	}
	m := r.minuteOf(s.At.Unix() / 60)
	b := (*m.bins.Load())[s.NS]
	if b == nil {
		if b = m.add(s.NS); b == nil {
			return
		}
	}
	priority := s.RU / chance(m.at, b.count.Add(1))
	if priority > math.Float64frombits(b.floor.Load()) {
		r.addToSample(m, b, s, priority)
	}
}

// chance returns a pseudo-random number between 0 and 1 that depends only on the minute since 1970 and on n, the number
// of the statement among those of its collection in that minute. The statement's priority is its cost divided by it.
func chance(minute, n int64) float64 {
	return (float64(mix64(uint64(minute)<<32+uint64(n)*0x9e3779b97f4a7c15)>>11) + 0.5) / (1 << 53)
}

// mix64 makes every bit of the result depend on every bit of x. Source: S. Vigna, "splitmix64".
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// minuteOf returns the sample of the minute that is being filled. If minute at has not begun yet, it begins; a
// statement of an earlier minute counts in the present one.
func (r *Recorder) minuteOf(at int64) *minute {
	if m := r.now.Load(); m != nil && m.at >= at {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.now.Load()
	if old != nil && old.at >= at {
		return old
	}
	m := &minute{at: at}
	m.bins.Store(&map[collection.Namespace]*bin{})
	m.room.Store(samplesOf)
	r.minutes[at%minutesKept] = m
	r.now.Store(m)
	if old != nil {
		for _, b := range *old.bins.Load() {
			b.mu.Lock()
			b.seen = nil
			b.mu.Unlock()
		}
	}
	return m
}

// add returns the bin of a collection in a minute, adding it if it is missing; nil if the minute then had more than
// collectionsMax.
func (m *minute) add(ns collection.Namespace) *bin {
	for {
		old := m.bins.Load()
		if b := (*old)[ns]; b != nil {
			return b
		}
		if len(*old) >= collectionsMax {
			return nil
		}
		next := maps.Clone(*old)
		b := &bin{seen: map[value]bool{}}
		next[collection.Namespace{DB: strings.Clone(ns.DB), Coll: strings.Clone(ns.Coll)}] = b
		if m.bins.CompareAndSwap(old, &next) {
			room := max(samplesLeast, min(samplesOf, samplesMax/len(next)))
			m.room.Store(int64(room))
			for _, other := range next {
				other.mu.Lock()
				other.trim(room)
				other.mu.Unlock()
			}
			return b
		}
	}
}

// addToSample adds a statement to the sample of a collection in a minute. If the sample is full, the statement with
// the lowest priority is dropped.
func (r *Recorder) addToSample(m *minute, b *bin, s *Statement, priority float64) {
	x := sample{priority: priority, ru: s.RU, visits: float32(s.Visits)}
	if s.Write {
		x.kind |= isWrite
	}
	if s.Page {
		x.kind |= isPage
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Document != nil {
		x.kind |= isDocument
	}
	r.read(b, m.at, &x, s)
	heap.Push(&b.list, x)
	b.trim(int(m.room.Load()))
}

// trim drops the statements with the lowest priorities while there are more than room+1. If more than room are left,
// the lowest of these only determines the weight of the others. The caller holds the mutex.
func (b *bin) trim(room int) {
	for len(b.list) > room+1 {
		heap.Pop(&b.list)
	}
	if len(b.list) > room {
		b.truncated = true
		b.floor.Store(math.Float64bits(b.list[0].priority))
	}
}

// Forget drops the samples of some collections.
func (r *Recorder) Forget(which func(collection.Namespace) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.minutes {
		for m != nil {
			old := m.bins.Load()
			next := maps.Clone(*old)
			maps.DeleteFunc(next, func(ns collection.Namespace, _ *bin) bool { return which(ns) })
			if m.bins.CompareAndSwap(old, &next) {
				break
			}
		}
	}
}

// samples is a heap, the lowest priority first.
type samples []sample

func (s samples) Len() int           { return len(s) }
func (s samples) Less(i, j int) bool { return s[i].priority < s[j].priority }
func (s samples) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *samples) Push(x any)        { *s = append(*s, x.(sample)) }
func (s *samples) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last] = sample{}
	*s = (*s)[:last]
	return x
}
