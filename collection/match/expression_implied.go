package match

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// Implied is an interval of the index on Path, if this index is not multikey, that contains the key of every
// document for which an $expr is true. The planner uses it as bounds.
type Implied struct {
	Path path.Path
	Interval
}

// Implied returns the intervals that follow from comparisons of field paths with constants, if the expression is such
// a comparison or an $and that contains some. Constants null, undefined and MinKey yield none. An expression compares
// values of different types and treats an array as one value. So the intervals differ from those of the query
// operators and hold only for indexes without arrays, and the expression must still be evaluated on each document.
// Manual: reference/operator/query/expr#behavior (index use).
func (n *Expr) Implied() []Implied {
	b := bson.NewBuilder(nil)
	n.e.Append(b, "e")
	return implied(nil, b.Doc().Get("e"))
}

func implied(list []Implied, v bson.Value) []Implied {
	d, ok := v.Doc()
	if !ok || d.Len() != 1 {
		return list
	}
	f, _ := d.First()
	args, ok := f.Value.Array()
	if !ok {
		return list
	}
	if string(f.Name) == "$and" {
		for a := range args.Values() {
			list = implied(list, a)
		}
		return list
	}
	if args.Len() != 2 {
		return list
	}
	left, _ := args.Index(0)
	right, _ := args.Index(1)
	op := string(f.Name)
	p, ok := fieldOf(left)
	if !ok {
		if p, ok = fieldOf(right); !ok {
			return list
		}
		right, op = left, mirrored(op)
	}
	c, ok := constantOf(right)
	// Missing sorts below null, but has the key of null.
	if !ok || c.IsNullish() || c.Type == bson.TypeMinKey {
		return list
	}
	i := AllValues()
	switch op {
	case "$eq":
		i = point(c)
	case "$gt":
		i.Lo, i.LoInclusive = c, false
	case "$gte":
		i.Lo = c
	case "$lt":
		i.Hi, i.HiInclusive = c, false
	case "$lte":
		i.Hi = c
	default:
		return list
	}
	return append(list, Implied{p, i})
}

// mirrored returns the comparison with its operands exchanged.
func mirrored(op string) string {
	switch op {
	case "$gt":
		return "$lt"
	case "$gte":
		return "$lte"
	case "$lt":
		return "$gt"
	case "$lte":
		return "$gte"
	}
	return op
}

func fieldOf(v bson.Value) (path.Path, bool) {
	s, ok := v.Str()
	if !ok || len(s) < 2 || s[0] != '$' || strings.HasPrefix(s, "$$") {
		return path.Path{}, false
	}
	p, err := path.Compile(s[1:])
	return p, err == nil && !p.HasPosition()
}

func constantOf(v bson.Value) (bson.Value, bool) {
	d, ok := v.Doc()
	if !ok || d.Len() != 1 {
		return v, false
	}
	return d.Lookup("$const")
}
