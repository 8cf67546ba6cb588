package project

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// cut holds the operator $slice of a find's projection: limit elements of an array from skip on. A negative skip
// counts from the end; without skip, a negative limit takes the last elements.
// Manual: reference/operator/projection/slice.
type cut struct {
	skip, limit int32
	skips       bool
}

// parseCut parses the argument of $slice in a find's projection. ok is false for an argument other than a number or
// two numbers, such as that of the aggregation expression $slice.
func parseCut(v bson.Value) (c cut, ok bool, err error) {
	if v.IsNumber() {
		return cut{limit: clamp(v)}, true, nil
	}
	arr, isArray := v.Array()
	if !isArray || arr.Len() != 2 {
		return c, false, nil
	}
	skip, _ := arr.Index(0)
	limit, _ := arr.Index(1)
	if !skip.IsNumber() || !limit.IsNumber() {
		return c, false, nil
	}
	c = cut{skip: clamp(skip), limit: clamp(limit), skips: true}
	if c.limit <= 0 {
		return c, true, mongoerr.New(28724, "$slice limit must be positive, got %d", c.limit)
	}
	return c, true, nil
}

// clamp truncates a number to int32.
func clamp(v bson.Value) int32 {
	n, _ := v.TruncInt64()
	return int32(max(math.MinInt32, min(math.MaxInt32, n)))
}

// span returns the range [from, to) that the $slice c selects of an array of n elements.
func (c cut) span(n int) (from, to int) {
	switch {
	case c.skips && c.skip >= 0:
		from = min(int(c.skip), n)
		return from, min(from+int(c.limit), n)
	case c.skips:
		from = max(n+int(c.skip), 0)
		return from, min(from+int(c.limit), n)
	case c.limit >= 0:
		return 0, min(int(c.limit), n)
	}
	return max(n+int(c.limit), 0), n
}

// cut appends the result of a $slice: of an array only the selected elements, of another value the value itself.
func (r *run) cut(k *child, name string, v bson.Value) {
	arr, ok := v.Array()
	if !ok {
		r.dst.Value(name, v)
		return
	}
	n := 0
	if k.cut.skips && k.cut.skip < 0 || k.cut.limit < 0 {
		n = arr.Len()
	} else {
		n = math.MaxInt32 // the length is not needed
	}
	from, to := k.cut.span(n)
	r.dst.BeginArray(name)
	i := 0
	for it := arr.Iter(); i < to && it.Next(); i++ {
		if i >= from {
			r.dst.Value("", it.Value)
		}
	}
	r.dst.End()
}
