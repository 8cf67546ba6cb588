package expr

import (
	"cmp"
	"sort"
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// loopArrays holds tables about large arrays of the document for which a loop ($map, $filter, $reduce) is evaluated.
// The body of a loop is evaluated for each element, and without a table each access to an element of another array is a
// walk over that array. Tables exist only while the outermost loop runs, and only for arrays inside its document: these
// bytes do not change meanwhile, whereas computed arrays of different content may follow each other at one address.
type loopArrays struct {
	doc    bson.Raw // the document of the outermost loop; nil outside of loops
	tables []arrayTable
	clock  uint // counts lookups of tables
}

// arrayTable holds the offsets of the elements of one array, and the elements in sorted order once they have been
// searched often (sortedAfter).
type arrayTable struct {
	first   *byte // of the array
	used    uint  // clock of the last access
	count   int   // of the elements
	offsets []int32
	visited int // elements that searches compared one by one
	sorted  []arrayPosition
	refused bool // there was no memory for sorted
	bytes   int  // memory, counted in Scratch.outside
}

// arrayPosition is an element of an array with its index.
type arrayPosition struct {
	v  bson.Value
	at int32
}

const (
	// tableBytesMin is the length of an array in bytes from which on it gets a table.
	tableBytesMin = 512
	// tablesMax is the number of tables; a further one replaces the table that was not used for the longest time.
	tablesMax = 8
	// offsetStep is the number of elements between two offsets of a table.
	offsetStep = 16
	// sortedAfter is the number of elements, as a multiple of the array's, that searches compare before the elements
	// are sorted.
	sortedAfter = 16
)

// enterLoop begins a loop over the document doc, and reports whether it is the outermost one, for which leaveLoop must
// be called.
func (s *Scratch) enterLoop(doc bson.Raw) bool {
	if s.loop.doc != nil {
		return false
	}
	s.loop.doc = doc
	return doc != nil
}

// leaveLoop ends the outermost loop and frees the tables.
func (s *Scratch) leaveLoop() {
	for i := range s.loop.tables {
		s.outside -= s.loop.tables[i].bytes
	}
	clear(s.loop.tables)
	s.loop = loopArrays{tables: s.loop.tables[:0]}
}

// tableOf returns the table of an array. It returns nil at the first access, for small arrays, for arrays that are not
// inside the document of a loop, and if there is no memory for a table.
func (s *Scratch) tableOf(env *mql.Env, a bson.Raw) *arrayTable {
	l := &s.loop
	if l.doc == nil || len(a) < tableBytesMin || !inside(l.doc, a) {
		return nil
	}
	l.clock++
	first := unsafe.SliceData(a)
	oldest := 0
	for i := range l.tables {
		t := &l.tables[i]
		if t.first == first {
			t.used = l.clock
			if t.offsets == nil && !s.index(env, t, a) {
				return nil
			}
			return t
		}
		if t.used < l.tables[oldest].used {
			oldest = i
		}
	}
	if len(l.tables) < tablesMax {
		oldest = len(l.tables)
		l.tables = append(l.tables, arrayTable{})
	}
	s.outside -= l.tables[oldest].bytes
	l.tables[oldest] = arrayTable{first: first, used: l.clock}
	return nil
}

// inside reports whether the bytes of a are within those of doc.
func inside(doc, a bson.Raw) bool {
	begin, at := uintptr(unsafe.Pointer(unsafe.SliceData(doc))), uintptr(unsafe.Pointer(unsafe.SliceData(a)))
	return at >= begin && at+uintptr(len(a)) <= begin+uintptr(len(doc))
}

// growTable counts n more bytes of a table, and reports whether there is memory for them.
func (s *Scratch) growTable(env *mql.Env, t *arrayTable, n int) bool {
	if s.take(env, n) != nil {
		return false
	}
	t.bytes += n
	return true
}

// index computes the offsets of a table, and reports whether there is memory for them.
func (s *Scratch) index(env *mql.Env, t *arrayTable, a bson.Raw) bool {
	const least = 3 // bytes of an element
	if !s.growTable(env, t, len(a)/(least*offsetStep)*4) {
		return false
	}
	begin := 4
	t.offsets = make([]int32, 0, len(a)/(4*least*offsetStep)+1)
	for it := a.Iter(); it.Next(); t.count++ {
		if t.count%offsetStep == 0 {
			t.offsets = append(t.offsets, int32(begin))
		}
		begin = it.Offset(a)
	}
	return true
}

// iterAt returns an iterator whose Next moves to the element i of an array, which has more than i elements.
func (t *arrayTable) iterAt(a bson.Raw, i int) bson.Iter {
	it := a.IterAt(int(t.offsets[i/offsetStep]))
	for range i % offsetStep {
		it.Next()
	}
	return it
}

// elementAt returns element i of an array, missing if there is none.
func (s *Scratch) elementAt(env *mql.Env, a bson.Raw, i int) bson.Value {
	t := s.tableOf(env, a)
	if t == nil {
		v, _ := a.Index(i)
		return v
	}
	if i < 0 || i >= t.count {
		return bson.Value{}
	}
	it := t.iterAt(a, i)
	it.Next()
	return it.Value
}

// lengthOf returns the number of elements of an array.
func (s *Scratch) lengthOf(env *mql.Env, a bson.Raw) int {
	if t := s.tableOf(env, a); t != nil {
		return t.count
	}
	return a.Len()
}

// find returns the index of the first element of an array, from start (inclusive) to end (exclusive), that equals v;
// -1 if there is none.
// Errors: the reason why the command must end.
func (s *Scratch) find(env *mql.Env, a bson.Raw, v bson.Value, start, end int32) (int32, error) {
	t := s.tableOf(env, a)
	if t != nil && t.sorted == nil && !t.refused && t.visited >= sortedAfter*t.count {
		if err := s.sortTable(env, t, a); err != nil {
			return -1, err
		}
	}
	o := env.Order()
	if t != nil && t.sorted != nil {
		n := sort.Search(len(t.sorted), func(i int) bool {
			return cmp.Or(bson.Compare(t.sorted[i].v, v, o), cmp.Compare(t.sorted[i].at, start)) >= 0
		})
		if n < len(t.sorted) && t.sorted[n].at < end && bson.Equal(t.sorted[n].v, v, o) {
			return t.sorted[n].at, nil
		}
		return -1, nil
	}
	i, found := int32(0), int32(-1)
	for it := a.Iter(); i < end && it.Next(); i++ {
		if i >= start && bson.Equal(it.Value, v, o) {
			found = i
			break
		}
	}
	if t != nil {
		t.visited += int(i)
	}
	return found, nil
}

// sortTable sorts the elements of an array for searches, if there is memory for them.
// Errors: the reason why the command must end.
func (s *Scratch) sortTable(env *mql.Env, t *arrayTable, a bson.Raw) error {
	if !s.growTable(env, t, t.count*int(unsafe.Sizeof(arrayPosition{}))) {
		t.refused = true
		return nil
	}
	t.sorted = make([]arrayPosition, 0, t.count)
	for it := a.Iter(); it.Next(); {
		t.sorted = append(t.sorted, arrayPosition{it.Value, int32(len(t.sorted))})
	}
	o := env.Order()
	return mql.Sort(env, t.sorted, func(x, y arrayPosition) int { return bson.Compare(x.v, y.v, o) })
}
