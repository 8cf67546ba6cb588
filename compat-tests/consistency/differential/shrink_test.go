package differential

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// trial is a query with a wrong answer: in one way of storage it differs from the answer of the scan, or the answer
// of the scan differs from that of the evaluator. It holds everything that is needed to repeat it.
type trial struct {
	seed          uint64
	docs, foreign []bson.D
	writes        []*write // before
	write         *write   // the last of them, if its reply differs
	needs         bool
	q             *question
	way           *way // nil is the evaluator
	at            int
	indexes       []index
	m             manner
	asked         []*question // earlier questions to the same way
	want, got     answer
}

// trialMost is the time limit for making a trial smaller.
const trialMost = 20 * time.Second

// differs makes a trial smaller and reports it.
func (r *round) differs(x *trial) {
	s := &shrinker{fuzzer: r.fuzzer, until: time.Now().Add(trialMost), want: x.want.code, got: x.got.code}
	note, want, got := "", x.want, x.got
	if !s.fails(x) {
		y := *x
		y.m.warm = append(slices.Clone(x.asked), x.m.warm...)
		if s.fails(&y) {
			x = &y
		} else {
			note, x.want, x.got = " (not when it was tried again)", want, got
		}
	}
	if note == "" {
		x = s.shrink(x)
		if !s.fails(x) {
			note = " (not every time)"
		}
	}
	r.report(x.kind(), fmt.Sprintf("CANTLE_SEED=%d%s\n%s", x.seed, note, x))
}

// operators matches the characteristic parts of a question.
var operators = regexp.MustCompile(`\$[a-zA-Z*]+|\.\d|""`)

// kind returns a name for a wrong answer that others with the same cause probably have too, so that it is reported
// once.
func (x *trial) kind() string {
	way := "evaluator"
	if x.way != nil {
		way = ""
		for _, i := range x.indexes {
			way += " " + strings.Join(operators.FindAllString(js(bson.D(i)), -1), "")
		}
	}
	words := operators.FindAllString(js(x.q.command()), -1)
	if len(x.writes) > 0 {
		words = append(words, operators.FindAllString(js(x.writes[len(x.writes)-1].command), -1)...)
	}
	slices.Sort(words)
	rewrite := ""
	if x.m.rewrite != nil {
		rewrite = x.m.rewrite.name
	}
	return way + " " + x.q.kind + " " + rewrite + strings.Join(slices.Compact(words), "")
}

// listed returns documents as an array.
func listed(docs []bson.D) bson.A {
	out := bson.A{}
	for _, d := range docs {
		out = append(out, d)
	}
	return out
}

// documentsShown is the maximum number of documents in a script.
const documentsShown = 120

// String prints a trial as a script.
func (x *trial) String() string {
	var b strings.Builder
	for _, coll := range []string{"c", "f"} {
		if x.way != nil && x.way.options != nil {
			fmt.Fprintf(&b, "db.createCollection(%q, %s)\n", coll, js(x.way.options))
		}
		if x.way != nil && x.way.shard != nil {
			fmt.Fprintf(&b, "db.adminCommand({shardCollection: \"test.%s\", key: %s, numInitialChunks: %d})\n", coll, js(x.way.shard), x.way.shards)
		}
	}
	insert := func(coll string, docs []bson.D) {
		switch {
		case len(docs) > documentsShown:
			fmt.Fprintf(&b, "// db.%s has %d documents, as the seed draws them\n", coll, len(docs))
		case len(docs) > 0:
			fmt.Fprintf(&b, "db.%s.insertMany(%s)\n", coll, js(listed(docs)))
		}
	}
	insert("c", x.docs)
	insert("f", x.foreign)
	if x.needs {
		for _, i := range needed {
			fmt.Fprintf(&b, "db.runCommand({createIndexes: \"c\", indexes: [%s]})\n", js(bson.D(i)))
		}
	}
	for _, i := range x.indexes {
		fmt.Fprintf(&b, "db.runCommand({createIndexes: \"c\", indexes: [%s]})\n", js(bson.D(i)))
	}
	for _, w := range x.writes {
		fmt.Fprintf(&b, "db.runCommand(%s)\n", js(w.command))
	}
	if x.write != nil {
		way := x.way.name
		fmt.Fprintf(&b, "scan: %s\n%s: %s\n", plainReply.show(x.want), way, plainReply.show(x.got))
		return b.String()
	}
	for _, q := range x.m.warm {
		fmt.Fprintf(&b, "%s // before\n", q.script())
	}
	fmt.Fprintf(&b, "%s\n", x.q.script())
	way := "the evaluator"
	if x.way != nil {
		way = x.way.name
		if x.m.rewrite != nil {
			fmt.Fprintf(&b, "// as %s, with %s\n", x.m.rewrite.name, js(x.m.aside))
		}
		if x.m.hint != nil {
			fmt.Fprintf(&b, "// hint %s\n", js(x.m.hint))
		}
		if x.m.batch != 0 || x.m.parked {
			fmt.Fprintf(&b, "// batches of %d, parked between: %v\n", x.m.batch, x.m.parked)
		}
	}
	fmt.Fprintf(&b, "scan: %s\n%s: %s\n", x.q.show(x.want), way, x.q.show(x.got))
	return b.String()
}

// shrinker makes trials smaller.
type shrinker struct {
	*fuzzer
	until time.Time
	n     int
	// The error codes of the original trial, expected and received. A smaller trial must have the same codes.
	want, got int32
}

// fails repeats a trial in a new database and reports whether the answers still differ.
func (s *shrinker) fails(x *trial) bool {
	s.n++
	r := &round{fuzzer: s.fuzzer, set: &set{seed: x.seed, db: fmt.Sprintf("shrink%d_%d", x.seed, s.n), docs: x.docs, foreign: x.foreign, needs: x.needs}}
	if r.dial() != nil {
		return false
	}
	defer r.end()
	base, indexes := ways[0], []index(nil)
	byKeys := x.q.bounds != nil && (len(x.writes) > 0 || !scalar(x.q.bounds.key, x.docs))
	if byKeys { // no filter can replace min and max
		base, indexes = ways[1], []index{drawer{common: x.q.bounds.key}.commonIndex()}
	}
	plain, err := r.set.populate(base, 0, indexes)
	if err != nil || byKeys && !plain.bounded() {
		return false
	}
	r.kept = append(r.kept, plain)
	if x.write != nil || len(x.writes) > 0 {
		return s.failsBehindWrites(x, r, plain)
	}
	if x.want, err = plain.send(x.q, manner{}); err != nil {
		return false
	}
	if x.way == nil {
		var ok bool
		x.got, ok = modelled(x.q, x.docs)
		return ok && x.want.code == 0 && !x.q.same(x.want, x.got)
	}
	k, err := r.set.populate(x.way, 1, x.indexes)
	if err != nil || byKeys && !k.bounded() {
		return false
	}
	r.kept = append(r.kept, k)
	if x.got, err = k.send(x.q, x.m); err != nil {
		x.got = answer{code: -4, message: err.Error()}
	}
	return x.want.code == s.want && x.got.code == s.got && !x.way.same(x.q, x.want, x.got)
}

// failsBehindWrites is fails for a trial with writes.
func (s *shrinker) failsBehindWrites(x *trial, r *round, plain *populatedWay) bool {
	k, err := r.set.populate(x.way, 1, x.indexes)
	if err != nil {
		return false
	}
	r.kept = append(r.kept, k)
	if len(k.indexes) < len(x.indexes) {
		return false
	}
	for i, w := range x.writes {
		want, err := plain.apply(w)
		if err != nil {
			return false
		}
		got, err := k.apply(w)
		switch {
		case x.write != nil && i == len(x.writes)-1:
			x.want, x.got = want, got
			if err != nil {
				x.got = answer{code: -4, message: err.Error()}
			}
			return x.want.code == s.want && x.got.code == s.got && !plainReply.same(x.want, x.got)
		case err != nil || want.code != 0 || got.code != 0:
			return false
		}
	}
	if x.want, err = plain.send(x.q, manner{}); err != nil {
		return false
	}
	if x.got, err = k.send(x.q, x.m); err != nil {
		x.got = answer{code: -4, message: err.Error()}
	}
	return x.want.code == s.want && x.got.code == s.got && !x.way.same(x.q, x.want, x.got)
}

// try keeps a smaller trial if it fails.
func (s *shrinker) try(x **trial, change func(*trial)) bool {
	if time.Now().After(s.until) {
		return false
	}
	y := **x
	q := *y.q
	y.q = &q
	change(&y)
	if !y.q.sound() || !s.fails(&y) {
		return false
	}
	*x = &y
	return true
}

// sound reports whether MongoDB defines the answer to a query: each stage whose result depends on the order of
// documents follows a sort with a unique order.
func (q *question) sound() bool {
	total := func(by any) bool {
		d, ok := by.(bson.D)
		return ok && len(d) > 0 && d[len(d)-1].Key == "_id"
	}
	if q.kind != "aggregate" {
		return q.sort == nil && q.skip+q.limit == 0 || q.kind == "count" || total(q.sort)
	}
	sorted, joined := false, false
	for _, s := range q.pipeline {
		stage, ok := s.(bson.D)
		if !ok || len(stage) != 1 {
			return false
		}
		text := js(stage)
		switch {
		case stage[0].Key == "$sort":
			if !total(stage[0].Value) {
				return false
			}
			sorted = true
		case stage[0].Key == "$lookup" || stage[0].Key == "$graphLookup":
			joined = true
		case joined && (stage[0].Key == "$unwind" || strings.Contains(text, "$sortArray")):
			joined = false
			sorted = sorted && stage[0].Key != "$unwind"
		case stage[0].Key == "$group":
			if !sorted && orderMatters.MatchString(text) {
				return false
			}
			sorted = false
		case stage[0].Key == "$unionWith":
			sorted = false
		case stage[0].Key == "$skip", stage[0].Key == "$limit" && stage[0].Value != int64(everyRow):
			if !sorted {
				return false
			}
		}
	}
	return !joined && (sorted || !q.ordered || strings.Contains(js(q.pipeline), "$facet"))
}

// orderMatters matches accumulators whose result depends on the order of documents.
var orderMatters = regexp.MustCompile(`\$(first|last|push|mergeObjects)`)

// shrink returns the smallest trial that it finds that still fails: it removes the documents, indexes, writes and
// conditions that are not needed, until a time limit.
func (s *shrinker) shrink(x *trial) *trial {
	for again := true; again && time.Now().Before(s.until); {
		again = false
		s.manner(&x)
		again = lists(s, &x, func(x *trial) *[]*question { return &x.m.warm }) || again
		again = lists(s, &x, func(x *trial) *[]bson.D { return &x.docs }) || again
		again = lists(s, &x, func(x *trial) *[]bson.D { return &x.foreign }) || again
		again = lists(s, &x, func(x *trial) *[]index { return &x.indexes }) || again
		again = s.writes(&x) || again
		again = s.question(&x) || again
		again = s.documents(&x, func(x *trial) *[]bson.D { return &x.docs }) || again
		again = s.documents(&x, func(x *trial) *[]bson.D { return &x.foreign }) || again
		again = s.options(&x) || again
	}
	return x
}

// writes removes writes and parts of them.
func (s *shrinker) writes(x **trial) (changed bool) {
	keep := 0 // the last write is the one that differs
	if (*x).write != nil {
		keep = 1
	}
	for at := 0; at < len((*x).writes)-keep; {
		if s.try(x, func(x *trial) { x.writes = slices.Concat(x.writes[:at], x.writes[at+1:]) }) {
			changed = true
		} else {
			at++
		}
	}
	for at := range (*x).writes {
		changed = s.tree(x, func(x *trial) any { return x.writes[at].command }, func(x *trial, v any) {
			w := *x.writes[at]
			w.command = v.(bson.D)
			x.writes = slices.Clone(x.writes)
			x.writes[at] = &w
		}) || changed
	}
	return changed
}

// manner makes the manner simpler.
func (s *shrinker) manner(x **trial) {
	if (*x).m.hint != nil {
		s.try(x, func(x *trial) { x.m.hint = nil })
	}
	if (*x).m.batch != 0 {
		s.try(x, func(x *trial) { x.m.batch = 0 })
	}
	if (*x).m.parked {
		s.try(x, func(x *trial) { x.m.parked = false })
	}
	if (*x).m.rewrite != nil {
		s.try(x, func(x *trial) { x.m.rewrite = nil })
	}
	if (*x).m.warm != nil {
		s.try(x, func(x *trial) { x.m.warm = nil })
	}
	if (*x).needs && !(*x).q.needs {
		s.try(x, func(x *trial) { x.needs = false })
	}
	for _, i := range []int{0, 1} { // a simpler way
		if (*x).way != nil && (*x).way != ways[i] {
			s.try(x, func(x *trial) { x.way = ways[i] })
		}
	}
}

// lists removes elements of one list of a trial while the trial still fails; it first tries many elements at a time.
// It reports whether it removed any.
func lists[T any](s *shrinker, x **trial, of func(*trial) *[]T) (changed bool) {
	for size := (len(*of(*x)) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(*of(*x)); {
			if s.try(x, func(x *trial) {
				list := *of(x)
				*of(x) = slices.Concat(list[:at], list[min(at+size, len(list)):])
			}) {
				changed = true
			} else {
				at += size
			}
		}
	}
	return changed
}

// question removes parts of the question.
func (s *shrinker) question(x **trial) (changed bool) {
	for _, change := range []func(*trial){
		func(x *trial) { x.q.sort, x.q.skip, x.q.limit = nil, 0, 0 },
		func(x *trial) { x.q.skip = 0 },
		func(x *trial) { x.q.limit = 0 },
		func(x *trial) { x.q.projection = nil },
		func(x *trial) { x.q.collation = nil },
		func(x *trial) { x.q.bounds = nil },
	} {
		before := (*x).q.script()
		y := **x
		q := *y.q
		y.q = &q
		change(&y)
		if y.q.script() != before {
			changed = s.try(x, change) || changed
		}
	}
	if (*x).q.filter != nil {
		changed = s.tree(x, func(x *trial) any { return x.q.filter }, func(x *trial, v any) { x.q.filter = v.(bson.D) }) || changed
	}
	if (*x).q.pipeline != nil {
		changed = s.tree(x, func(x *trial) any { return x.q.pipeline }, func(x *trial, v any) { x.q.pipeline = v.(bson.A) }) || changed
	}
	if (*x).q.projection != nil && !hasOperator((*x).q.projection) {
		changed = s.tree(x, func(x *trial) any { return x.q.projection }, func(x *trial, v any) { x.q.projection = v.(bson.D) }) || changed
	}
	if (*x).q.sort != nil {
		changed = s.tree(x, func(x *trial) any { return x.q.sort }, func(x *trial, v any) { x.q.sort = v.(bson.D) }) || changed
	}
	if (*x).m.aside != nil {
		changed = s.tree(x, func(x *trial) any { return x.m.aside }, func(x *trial, v any) { x.m.aside = v.(bson.D) }) || changed
	}
	return changed
}

// tree removes parts of a value.
func (s *shrinker) tree(x **trial, get func(*trial) any, set func(*trial, any)) (changed bool) {
	for again := true; again && time.Now().Before(s.until); {
		again = false
		for _, smaller := range smaller(get(*x)) {
			if s.try(x, func(x *trial) { set(x, smaller) }) {
				again, changed = true, true
				break
			}
		}
	}
	return changed
}

// smaller returns variants of a value of the same type: without one of its parts, or with a smaller part.
func smaller(v any) (out []any) {
	switch v := v.(type) {
	case bson.D:
		for i := range v {
			out = append(out, slices.Concat(v[:i], v[i+1:]))
		}
		for _, e := range v { // an embedded document in place of its parent
			if list, ok := e.Value.(bson.A); ok && (e.Key == "$and" || e.Key == "$or") {
				for _, in := range list {
					if d, ok := in.(bson.D); ok {
						out = append(out, d)
					}
				}
			}
		}
		for i, e := range v {
			for _, part := range smallerValue(e.Value) {
				changed := slices.Clone(v)
				changed[i].Value = part
				out = append(out, changed)
			}
		}
	case bson.A:
		for i := range v {
			out = append(out, slices.Concat(v[:i], v[i+1:]))
		}
		for i, e := range v {
			for _, part := range smallerValue(e) {
				changed := slices.Clone(v)
				changed[i] = part
				out = append(out, changed)
			}
		}
	}
	return out
}

// smallerValue returns simpler values, of any type.
func smallerValue(v any) []any {
	switch v := v.(type) {
	case bson.D, bson.A:
		return append(smaller(v), int32(1))
	case int32:
		return nil
	case string, self, other, bool:
		return nil
	}
	return []any{int32(1)}
}

// documents makes documents smaller.
func (s *shrinker) documents(x **trial, of func(*trial) *[]bson.D) (changed bool) {
	if len(*of(*x)) > 12 {
		return false
	}
	for i := range *of(*x) {
		for again := true; again && time.Now().Before(s.until); {
			again = false
			for _, d := range smaller((*of(*x))[i]) {
				if len(d.(bson.D)) == 0 || d.(bson.D)[0].Key != "_id" {
					continue
				}
				if s.try(x, func(x *trial) {
					list := slices.Clone(*of(x))
					list[i] = d.(bson.D)
					*of(x) = list
				}) {
					again, changed = true, true
					break
				}
			}
		}
	}
	return changed
}

// options removes options and fields of indexes.
func (s *shrinker) options(x **trial) (changed bool) {
	for i := range (*x).indexes {
		for _, d := range smaller(bson.D((*x).indexes[i])) {
			if y := index(d.(bson.D)); !y.has("key") || !y.has("name") {
				continue
			}
			if s.try(x, func(x *trial) {
				x.indexes = slices.Clone(x.indexes)
				x.indexes[i] = index(d.(bson.D))
			}) {
				changed = true
				break
			}
		}
	}
	return changed
}
