package match_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// FuzzMatch compares Matches with a naive evaluator that first lists all values that a path reaches, on random
// filters and documents with values of many types, arrays and missing fields. It also checks that Normalize and
// printing keep the results, and that Bounds is correct for the keys that an index would have.
func FuzzMatch(f *testing.F) {
	for i := range 64 {
		f.Add([]byte(strings.Repeat(strconv.Itoa(i*7919), 12)))
	}
	f.Add([]byte{})
	f.Fuzz(compareWithNaive)
}

// TestMatchRandom compares Matches with the naive evaluator of FuzzMatch on 10,000 inputs from a fixed seed.
func TestMatchRandom(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	seed := make([]byte, 80)
	for range 10_000 {
		r.Read(seed)
		compareWithNaive(t, seed)
	}
}

func compareWithNaive(t *testing.T, seed []byte) {
	g := &drawer{in: seed}
	filter, doc := g.filter(2), g.doc(3)
	env := mql.NewEnv(context.Background())
	n, err := match.Parse(env, filter)
	if err != nil {
		return
	}
	s := &expr.Scratch{}
	got, err := n.Matches(env, doc, s)
	if err != nil {
		t.Fatal(err)
	}
	if want := naive(filter, doc); got != want {
		t.Fatalf("%s on %s: %t, naive %t", ejson.String(filter), ejson.String(doc), got, want)
	}
	normal := match.Normalize(n)
	if again, _ := normal.Matches(env, doc, s); again != got {
		t.Fatalf("%s on %s: %t, normalised (%s) %t", ejson.String(filter), ejson.String(doc), got, ejson.String(match.String(normal)), again)
	}
	if printed, err := match.Parse(env, match.String(n)); err != nil {
		t.Fatalf("%s prints as %s: %v", ejson.String(filter), ejson.String(match.String(n)), err)
	} else if again, _ := printed.Matches(env, doc, s); again != got {
		t.Fatalf("%s prints as %s, which answers %t", ejson.String(filter), ejson.String(match.String(n)), again)
	}
	match.Walk(normal, func(c match.Node) {
		if p, ok := c.(match.Pathed); ok && !p.Path().HasPosition() && p.Path().Len() > 0 {
			checkBounds(t, env, p, doc, s)
		}
	})
}

// checkBounds checks the intervals of p.Bounds against the index keys that doc has on the node's path: a match has a
// key inside the intervals, and if the intervals are exact, a document with a key inside is a match.
func checkBounds(t *testing.T, env *mql.Env, p match.Pathed, doc bson.Raw, s *expr.Scratch) {
	var list []match.Interval
	exact := p.Bounds(func(i match.Interval) { list = append(list, i) })
	for i, a := range list {
		if c := bson.Compare(a.Lo, a.Hi, nil); c > 0 || c == 0 && !a.IsPoint() {
			t.Fatalf("%s: empty interval %d", boundsText(p), i)
		}
		if i > 0 && bson.Compare(list[i-1].Hi, a.Lo, nil) > 0 {
			t.Fatalf("%s: not in order", boundsText(p))
		}
	}
	ok, _ := p.Matches(env, doc, s)
	inside := false
	p.Path().Walk(doc, path.LeafOnly, func(key bson.Value, _ []int32) bool {
		for _, i := range list {
			lo, hi := bson.Compare(key, i.Lo, nil), bson.Compare(key, i.Hi, nil)
			inside = inside || (lo > 0 || lo == 0 && i.LoInclusive) && (hi < 0 || hi == 0 && i.HiInclusive)
		}
		return true
	})
	if ok && !inside {
		t.Fatalf("%s on %s matches outside of %s", ejson.String(match.String(p)), ejson.String(doc), boundsText(p))
	}
	if exact && inside && !ok {
		t.Fatalf("%s on %s does not match inside of %s", ejson.String(match.String(p)), ejson.String(doc), boundsText(p))
	}
}

// drawer makes documents and filters from bytes.
type drawer struct{ in []byte }

func (g *drawer) n(max int) int {
	if len(g.in) == 0 {
		return 0
	}
	c := int(g.in[0])
	g.in = g.in[1:]
	return c % max
}

var scalars = []string{
	"1", "2", "2.5", "NumberLong(2)", "NaN", "null", `"a"`, `"b"`, "true", "MinKey", "MaxKey", "Decimal128(\"1.0\")",
	`ISODate("2020-01-01")`, "/a/", "undefined", `BinData(0, "Ag==")`,
}

func (g *drawer) scalar() bson.Value {
	v, err := ejson.ParseValue(scalars[g.n(len(scalars))])
	if err != nil {
		panic(err)
	}
	return v
}

func (g *drawer) value(depth int) bson.Value {
	switch k := g.n(6); {
	case depth > 0 && k == 4:
		return g.doc(depth - 1).Value()
	case depth > 0 && k == 5:
		b := bson.NewArrayBuilder(nil)
		for range g.n(4) {
			b.Value("", g.value(depth-1))
		}
		return b.Doc().ArrayValue()
	}
	return g.scalar()
}

func (g *drawer) doc(depth int) bson.Raw {
	b := bson.NewBuilder(nil)
	for _, name := range []string{"a", "b", "0"} {
		if g.n(3) > 0 {
			b.Value(name, g.value(depth))
		}
	}
	return b.Doc()
}

func (g *drawer) filter(depth int) bson.Raw {
	b := bson.NewBuilder(nil)
	for range 1 + g.n(2) {
		if k := g.n(8); depth > 0 && k < 3 {
			b.BeginArray([]string{"$and", "$or", "$nor"}[k])
			for range 1 + g.n(2) {
				b.Raw("", g.filter(depth-1))
			}
			b.End()
			continue
		}
		b.Raw([]string{"a", "b", "a.b", "a.0", "a.b.a"}[g.n(5)], g.ops(depth))
	}
	return b.Doc()
}

func (g *drawer) ops(depth int) bson.Raw {
	b := bson.NewBuilder(nil)
	for range 1 + g.n(2) {
		switch g.n(12) {
		case 0, 1:
			b.Value("$eq", g.value(1))
		case 2:
			b.Value("$ne", g.value(1))
		case 3:
			b.Value([]string{"$gt", "$gte", "$lt", "$lte"}[g.n(4)], g.value(1))
		case 4:
			b.BeginArray([]string{"$in", "$nin"}[g.n(2)])
			for range g.n(4) {
				b.Value("", g.value(1))
			}
			b.End()
		case 5:
			b.Bool("$exists", g.n(2) == 1)
		case 6:
			b.String("$type", []string{"number", "string", "array", "object", "null", "int", "bool"}[g.n(7)])
		case 7:
			b.Int32("$size", int32(g.n(3)))
		case 8:
			b.BeginArray("$mod")
			b.Int32("", 2)
			b.Int32("", int32(g.n(2)))
			b.End()
		case 9:
			if depth > 0 {
				b.Raw("$elemMatch", g.ops(depth-1))
			}
		case 10:
			if depth > 0 {
				b.Raw("$elemMatch", g.filter(depth-1))
			}
		case 11:
			if depth > 0 {
				b.Raw("$not", g.ops(depth-1))
			}
		}
	}
	return b.Doc()
}

// naive reports whether doc matches a filter. It is slow and simple, to compare Matches with: as in the manual, it
// first lists all values that a path reaches.
func naive(filter, doc bson.Raw) bool {
	for name, v := range filter.Fields() {
		var ok bool
		switch op := string(name); op {
		case "$and", "$or", "$nor":
			arr, _ := v.Array()
			all, any := true, false
			for e := range arr.Values() {
				d, _ := e.Doc()
				m := naive(d, doc)
				all, any = all && m, any || m
			}
			ok = op == "$and" && all || op == "$or" && any || op == "$nor" && !any
		default:
			d, _ := v.Doc()
			values := reach(doc.Value(), strings.Split(op, "."))
			ok = naiveOps(d, values)
			if d.IsEmpty() { // not operators but a document to compare with
				ok = someValue("$eq", v, values)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// reached is a value at the end of a path. whole reports that a position in the path selects this array element;
// naive then does not also compare the elements inside it.
type reached struct {
	v     bson.Value
	whole bool
}

func reach(v bson.Value, names []string) (out []reached) {
	d, _ := v.Doc()
	w := d.Get(names[0])
	switch {
	case len(names) == 1:
		return []reached{{w, false}}
	case w.Type == bson.TypeDocument:
		return reach(w, names[1:])
	case w.Type == bson.TypeArray:
		return reachIn(w, names[1:])
	}
	return []reached{{bson.Value{}, false}}
}

func reachIn(arr bson.Value, names []string) (out []reached) {
	i := 0
	for e := range bson.Raw(arr.Data).Values() {
		if e.Type == bson.TypeDocument {
			out = append(out, reach(e, names)...)
		}
		if names[0] == strconv.Itoa(i) {
			switch {
			case len(names) == 1:
				out = append(out, reached{e, true})
			case e.Type == bson.TypeDocument:
				out = append(out, reach(e, names[1:])...)
			case e.Type == bson.TypeArray:
				out = append(out, reachIn(e, names[1:])...)
			}
		}
		i++
	}
	return out
}

// naiveOps evaluates {$op: arg, …} on the values of a path.
func naiveOps(ops bson.Raw, values []reached) bool {
	for name, arg := range ops.Fields() {
		op := string(name)
		var ok bool
		switch op {
		case "$ne":
			ok = !someValue("$eq", arg, values)
		case "$nin":
			ok = !someValue("$in", arg, values)
		case "$not":
			d, _ := arg.Doc()
			ok = !naiveOps(d, values)
		case "$exists":
			ok = someValue("$exists", arg, values) == arg.Truthy()
		default:
			ok = someValue(op, arg, values)
		}
		if !ok {
			return false
		}
	}
	return true
}

func someValue(op string, arg bson.Value, values []reached) bool {
	for _, r := range values {
		list := []bson.Value{r.v}
		if arr, ok := r.v.Array(); ok && !r.whole && !slices.Contains([]string{"$size", "$elemMatch", "$exists"}, op) {
			list = append(slices.Collect(arr.Values()), r.v)
		}
		for _, v := range list {
			if oneValue(op, arg, v) {
				return true
			}
		}
	}
	return false
}

func oneValue(op string, arg, v bson.Value) bool {
	nullish := v.IsNullish()
	switch op {
	case "$eq":
		if arg.Type == bson.TypeNull {
			return nullish && v.Type != bson.TypeUndefined
		}
		return !nullish && bson.Equal(v, arg, nil)
	case "$in":
		arr, _ := arg.Array()
		for e := range arr.Values() {
			if e.Type == bson.TypeRegex {
				text, isText := v.Text()
				if isText && strings.Contains(string(text), "a") || bson.Equal(v, e, nil) {
					return true
				}
			} else if oneValue("$eq", e, v) {
				return true
			}
		}
		return false
	case "$gt", "$gte", "$lt", "$lte":
		return related(op, arg, v)
	case "$exists":
		return !v.IsMissing()
	case "$type":
		alias, _ := arg.Str()
		return v.Type.String() == alias || alias == "number" && v.IsNumber()
	case "$size":
		arr, ok := v.Array()
		n, _ := arg.AsInt64()
		return ok && int64(arr.Len()) == n
	case "$mod":
		arr, _ := arg.Array()
		want, _ := arr.Index(1)
		w, _ := want.AsInt64()
		f, ok := v.AsFloat()
		return ok && f == f && (int64(f)%2) == w
	case "$elemMatch":
		return elementMatches(arg, v)
	}
	panic(op)
}

func related(op string, arg, v bson.Value) bool {
	nan := func(x bson.Value) bool { f, ok := x.AsFloat(); return ok && f != f }
	c := bson.Compare(v, arg, nil)
	switch {
	case arg.Type == bson.TypeNull:
		return v.IsNullish() && v.Type != bson.TypeUndefined && len(op) == 4
	case arg.Type == bson.TypeMinKey || arg.Type == bson.TypeMaxKey:
		if v.IsMissing() {
			c = -1
			if arg.Type == bson.TypeMinKey {
				c = 1
			}
		}
	case v.Type.Class() != arg.Type.Class():
		return false
	case nan(arg) || nan(v):
		return nan(arg) && nan(v) && len(op) == 4
	}
	return op == "$gt" && c > 0 || op == "$gte" && c >= 0 || op == "$lt" && c < 0 || op == "$lte" && c <= 0
}

func elementMatches(arg, v bson.Value) bool {
	arr, ok := v.Array()
	if !ok {
		return false
	}
	d, _ := arg.Doc()
	f, some := d.First()
	byValue := some && f.Name[0] == '$' && !slices.Contains([]string{"$and", "$or", "$nor"}, string(f.Name))
	for e := range arr.Values() {
		switch {
		case byValue:
			if naiveOps(d, []reached{{e, true}}) {
				return true
			}
		case e.Type == bson.TypeDocument || e.Type == bson.TypeArray:
			if naive(d, bson.Raw(e.Data)) {
				return true
			}
		}
	}
	return false
}
