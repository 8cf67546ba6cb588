package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// self is the placeholder in a command for the collection of the query, other for the second collection of joins,
// copied for the target of $out.
type (
	self   struct{}
	other  struct{}
	copied struct{}
)

// question is a command that reads.
type question struct {
	kind        string // find, count, distinct, aggregate
	filter      bson.D
	sort        bson.D // a unique order; nil is none
	skip, limit int64
	projection  bson.D
	key         string // the path of distinct
	pipeline    bson.A
	collation   bson.D
	ordered     bool // the order of the rows of an aggregate is defined
	of          any  // the collection; nil is self
	needs       bool // requires an index that every way has: $text, $near
	bounds      *keyRange
	anyOrder    bool // the way may return fields in any order
}

// command returns the question as a command, for self.
func (q *question) command() bson.D {
	var out bson.D
	add := func(name string, v any) { out = append(out, bson.E{Key: name, Value: v}) }
	of := q.of
	if of == nil {
		of = self{}
	}
	switch add(q.kind, of); q.kind {
	case "find":
		add("filter", q.filter)
		if q.sort != nil {
			add("sort", q.sort)
		}
		if q.projection != nil {
			add("projection", q.projection)
		}
		if b := q.bounds; b != nil {
			if b.min != nil {
				add("min", b.min)
			}
			if b.max != nil {
				add("max", b.max)
			}
			add("hint", common)
		}
	case "count":
		add("query", q.filter)
	case "distinct":
		add("key", q.key)
		add("query", q.filter)
	case "aggregate":
		add("pipeline", q.pipeline)
		add("cursor", bson.D{})
	}
	if q.skip > 0 {
		add("skip", q.skip)
	}
	if q.limit > 0 {
		add("limit", q.limit)
	}
	if q.collation != nil {
		add("collation", q.collation)
	}
	return out
}

// bind replaces self and other by names.
func bind(v any, own, beside string) any {
	switch v := v.(type) {
	case self:
		return own
	case other:
		return beside
	case copied:
		return own + "_out"
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{Key: e.Key, Value: bind(e.Value, own, beside)}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = bind(e, own, beside)
		}
		return out
	}
	return v
}

// answer is the answer to a query in one way of storage: rows, or the code of an error.
type answer struct {
	rows    []bson.Raw
	code    int32
	message string
}

// inOrder reports whether the order of the rows is defined.
func (q *question) inOrder() bool { return q.kind == "find" && q.sort != nil || q.ordered }

// byName reports whether the fields of a row may be in any order, because an index that covers the query returns
// them in its own order.
func (q *question) byName() bool {
	return q.anyOrder || q.kind == "find" && q.projection != nil || q.kind == "aggregate" && strings.Contains(js(q.pipeline), "$project")
}

// loose reports whether the answer to a query may contain any one of several equal values, such as 1 and 1.0.
func (q *question) loose() bool {
	if q.kind != "aggregate" {
		return q.kind == "distinct"
	}
	return slices.ContainsFunc(q.pipeline, func(stage any) bool {
		switch stage.(bson.D)[0].Key {
		case "$match", "$sort", "$skip", "$limit", "$unwind":
			return false
		}
		return true
	})
}

// String returns the name of the kind of query under which it is counted.
func (q *question) String() string {
	switch {
	case q.bounds != nil:
		return q.kind + " by min and max"
	case isPositional(q.projection):
		return q.kind + " of the element that is found"
	case hasOperator(q.projection):
		return q.kind + " of elements"
	}
	return q.kind
}

// canon returns the rows of an answer as text in a canonical form, in which the allowed differences do not appear.
func (q *question) canon(a answer) []string {
	if a.code != 0 {
		return []string{"error " + strconv.Itoa(int(a.code))}
	}
	out := make([]string, len(a.rows))
	plain := !q.byName() && !q.loose()
	c := canonizer{byName: q.byName(), loose: q.loose(), fold: q.collation != nil}
	for i, raw := range a.rows {
		if plain {
			out[i] = string(raw)
			continue
		}
		var d bson.D
		if err := bson.Unmarshal(raw, &d); err != nil {
			out[i] = err.Error()
			continue
		}
		var b strings.Builder
		c.print(&b, d)
		out[i] = b.String()
	}
	if !q.inOrder() {
		slices.Sort(out)
	}
	return out
}

// canonizer prints values in a canonical form.
type canonizer struct{ byName, loose, fold bool }

func (c canonizer) print(b *strings.Builder, v any) {
	switch v := v.(type) {
	case bson.D:
		if c.byName {
			v = slices.Clone(v)
			slices.SortStableFunc(v, func(x, y bson.E) int { return strings.Compare(x.Key, y.Key) })
		}
		b.WriteByte('{')
		for _, e := range v {
			b.WriteString(strconv.Quote(e.Key))
			b.WriteByte(':')
			c.print(b, e.Value)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case bson.A:
		b.WriteByte('[')
		for _, e := range v {
			c.print(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case int32, int64, float64, bson.Decimal128:
		if !c.loose {
			b.WriteString(js(v))
			return
		}
		f, ok := special(v)
		if !ok {
			f = number(v)
		}
		if f == 0 {
			f = 0 // not -0
		}
		b.WriteString(strconv.FormatFloat(f, 'g', 11, 64))
	case string:
		if c.fold && c.loose {
			v = strings.ToLower(folds.Replace(v))
		}
		b.WriteString(strconv.Quote(v))
	default:
		b.WriteString(js(v))
	}
}

// same reports whether two answers to a query are equal, apart from differences that MongoDB allows.
func (q *question) same(a, b answer) bool {
	if a.code != 0 || b.code != 0 {
		return a.code == b.code
	}
	return len(a.rows) == len(b.rows) && slices.Equal(q.canon(a), q.canon(b))
}

// same reports whether the answer got of this way of storage is equal to the expected answer.
func (w *way) same(q *question, want, got answer) bool {
	if w.series {
		other := *q
		other.anyOrder = true
		q = &other
	}
	return q.same(want, got)
}

// show prints an answer.
func (q *question) show(a answer) string {
	if a.code != 0 {
		return fmt.Sprintf("error %d: %s", a.code, a.message)
	}
	var out []string
	for _, raw := range a.rows {
		var d bson.D
		if err := bson.Unmarshal(raw, &d); err != nil {
			return err.Error()
		}
		out = append(out, js(d))
	}
	if !q.inOrder() {
		slices.Sort(out)
	}
	text := strings.Join(out, "\n  ")
	if len(text) > 1500 {
		text = text[:1500] + "…"
	}
	return fmt.Sprintf("%d rows\n  %s", len(out), text)
}

// script returns the question as a statement of the shell.
func (q *question) script() string { return "db.runCommand(" + js(q.command()) + ")" }
