package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
)

// Interval is a range of index keys in ascending BSON order; Lo and Hi are values as an index holds them. Under a
// collation, an index holds the sort keys of strings: Lo and Hi still have the string itself, and the planner
// replaces it.
type Interval struct {
	Lo, Hi                   bson.Value
	LoInclusive, HiInclusive bool
}

// IsPoint reports whether the interval is a single value.
func (i Interval) IsPoint() bool {
	return i.LoInclusive && i.HiInclusive && bson.Compare(i.Lo, i.Hi, nil) == 0
}

// IsAll reports whether the interval contains all keys.
func (i Interval) IsAll() bool {
	return i.Lo.Type == bson.TypeMinKey && i.Hi.Type == bson.TypeMaxKey && i.LoInclusive && i.HiInclusive
}

// AllValues returns the interval of all keys.
func AllValues() Interval { return Interval{bson.MinKey, bson.MaxKey, true, true} }

func point(v bson.Value) Interval { return Interval{v, v, true, true} }

// undefined is the index key of an empty array.
var undefined = bson.Value{Type: bson.TypeUndefined}

// classBounds returns the interval of all values that a comparison with a value of type t can match: all numbers,
// all strings, and so on.
func classBounds(t bson.Type) Interval {
	switch t {
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128:
		return Interval{nan, infinity, true, true}
	case bson.TypeString, bson.TypeSymbol:
		return Interval{emptyString, bson.EmptyDoc, true, false}
	case bson.TypeDocument:
		return Interval{bson.EmptyDoc, bson.EmptyArray, true, false}
	case bson.TypeArray:
		return Interval{bson.EmptyArray, emptyBinary, true, false}
	case bson.TypeBinary:
		return Interval{emptyBinary, firstObjectID, true, false}
	case bson.TypeObjectID:
		return Interval{firstObjectID, bson.False, true, false}
	case bson.TypeBool:
		return Interval{bson.False, bson.True, true, true}
	case bson.TypeDateTime:
		return Interval{firstDate, firstTimestamp, true, false}
	case bson.TypeTimestamp:
		return Interval{firstTimestamp, emptyRegex, true, false}
	case bson.TypeRegex:
		return Interval{emptyRegex, firstDBPointer, true, false}
	case bson.TypeDBPointer:
		return Interval{firstDBPointer, emptyCode, true, false}
	case bson.TypeCode:
		return Interval{emptyCode, emptyCodeScope, true, false}
	case bson.TypeCodeScope:
		return Interval{emptyCodeScope, bson.MaxKey, true, false}
	case bson.TypeMinKey:
		return point(bson.MinKey)
	case bson.TypeMaxKey:
		return point(bson.MaxKey)
	case bson.TypeUndefined:
		return point(undefined)
	}
	return point(bson.Null)
}

// The least values of the classes, and the greatest number.
var (
	nan            = bson.Value{Type: bson.TypeDouble, Data: []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}}
	infinity       = bson.Value{Type: bson.TypeDouble, Data: []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}}
	minusInfinity  = bson.Value{Type: bson.TypeDouble, Data: []byte{0, 0, 0, 0, 0, 0, 0xf0, 0xff}}
	emptyString    = bson.Value{Type: bson.TypeString, Data: []byte{1, 0, 0, 0, 0}}
	emptyBinary    = bson.Value{Type: bson.TypeBinary, Data: []byte{0, 0, 0, 0, 0}}
	firstObjectID  = bson.Value{Type: bson.TypeObjectID, Data: make([]byte, 12)}
	firstDate      = bson.Value{Type: bson.TypeDateTime, Data: []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}
	firstTimestamp = bson.Value{Type: bson.TypeTimestamp, Data: make([]byte, 8)}
	emptyRegex     = bson.Value{Type: bson.TypeRegex, Data: []byte{0, 0}}
	firstDBPointer = bson.Value{Type: bson.TypeDBPointer, Data: append([]byte{1, 0, 0, 0, 0}, make([]byte, 12)...)}
	emptyCode      = bson.Value{Type: bson.TypeCode, Data: []byte{1, 0, 0, 0, 0}}
	emptyCodeScope = bson.Value{Type: bson.TypeCodeScope, Data: []byte{14, 0, 0, 0, 1, 0, 0, 0, 0, 5, 0, 0, 0, 0}}
)

// union sorts intervals and merges those that overlap or touch.
func union(list []Interval) []Interval {
	if len(list) < 2 {
		return list
	}
	slices.SortFunc(list, func(a, b Interval) int {
		if c := bson.Compare(a.Lo, b.Lo, nil); c != 0 {
			return c
		}
		switch {
		case a.LoInclusive == b.LoInclusive:
			return 0
		case a.LoInclusive:
			return -1
		}
		return 1
	})
	out := list[:1]
	for _, i := range list[1:] {
		last := &out[len(out)-1]
		c := bson.Compare(i.Lo, last.Hi, nil)
		if c > 0 || c == 0 && !i.LoInclusive && !last.HiInclusive {
			out = append(out, i)
			continue
		}
		switch c := bson.Compare(i.Hi, last.Hi, nil); {
		case c > 0:
			last.Hi, last.HiInclusive = i.Hi, i.HiInclusive
		case c == 0:
			last.HiInclusive = last.HiInclusive || i.HiInclusive
		}
	}
	return out
}

// endsWithText reports whether an end of the interval is a string, or can contain one.
func (i Interval) endsWithText() bool { return i.Lo.Type.HoldsText() || i.Hi.Type.HoldsText() }

// EndWithText reports whether an end of an interval is a string, or can contain one: under a collation, the intervals
// are then in another order than their keys.
func EndWithText(list []Interval) bool { return slices.ContainsFunc(list, Interval.endsWithText) }

// IsCollationIndependent reports whether the interval contains only values whose order does not depend on a collation.
// Strings sort just below documents.
func (i Interval) IsCollationIndependent() bool {
	return !i.endsWithText() && (bson.Compare(i.Lo, bson.EmptyDoc, nil) >= 0 || bson.Compare(i.Hi, bson.EmptyDoc, nil) < 0)
}

// WithArrays adds the interval of all arrays to ascending intervals.
func WithArrays(list []Interval) []Interval {
	return union(append([]Interval{classBounds(bson.TypeArray)}, list...))
}

// intersect returns the intersection of two sorted lists of intervals.
func intersect(a, b []Interval) []Interval {
	var out []Interval
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		i := x
		if c := bson.Compare(y.Lo, x.Lo, nil); c > 0 || c == 0 && !y.LoInclusive {
			i.Lo, i.LoInclusive = y.Lo, y.LoInclusive
		}
		c := bson.Compare(y.Hi, x.Hi, nil)
		if c < 0 || c == 0 && !y.HiInclusive {
			i.Hi, i.HiInclusive = y.Hi, y.HiInclusive
		}
		if n := bson.Compare(i.Lo, i.Hi, nil); n < 0 || n == 0 && i.LoInclusive && i.HiInclusive {
			out = append(out, i)
		}
		if c < 0 || c == 0 && x.HiInclusive {
			b = b[1:]
		} else {
			a = a[1:]
		}
	}
	return out
}

// Intersect returns the index keys that are in both a and b, two lists of intervals in ascending order. The result
// is never nil.
func Intersect(a, b []Interval) []Interval {
	out := []Interval{}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		r := x
		if c := bson.Compare(y.Lo, x.Lo, nil); c > 0 {
			r.Lo, r.LoInclusive = y.Lo, y.LoInclusive
		} else if c == 0 {
			r.LoInclusive = x.LoInclusive && y.LoInclusive
		}
		ends := bson.Compare(x.Hi, y.Hi, nil)
		if ends > 0 {
			r.Hi, r.HiInclusive = y.Hi, y.HiInclusive
		} else if ends == 0 {
			r.HiInclusive = x.HiInclusive && y.HiInclusive
		}
		if c := bson.Compare(r.Lo, r.Hi, nil); c < 0 || c == 0 && r.LoInclusive && r.HiInclusive {
			out = append(out, r)
		}
		if ends <= 0 {
			i++
		}
		if ends >= 0 {
			j++
		}
	}
	return out
}

// Bounded returns intervals that contain the value of a path in every document that matches n, if the value is no
// array; ok is false if the filter does not bound the value. The intervals of an $or are in the order of its clauses
// and may overlap.
func Bounded(n Node, path string) (ivs []Interval, ok bool) {
	switch n := n.(type) {
	case *And:
		plain := false
		for _, c := range n.list {
			more, found := Bounded(c, path)
			_, or := c.(*Or)
			switch {
			case !found || or && ok:
			case ok && plain:
				ivs = Intersect(ivs, more)
			default:
				ivs, ok, plain = more, true, !or
			}
		}
		return ivs, ok
	case *Or:
		for _, c := range n.list {
			more, found := Bounded(c, path)
			if !found {
				return nil, false
			}
			ivs = append(ivs, more...)
		}
		return ivs, true
	case Pathed:
		if n.Path().String() != path {
			return nil, false
		}
		n.Bounds(func(i Interval) { ivs = append(ivs, i) })
		return ivs, len(ivs) != 1 || !ivs[0].IsAll()
	}
	return nil, false
}
