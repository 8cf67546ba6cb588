package agg

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageGraphLookup = reading(StageDef{Name: "$graphLookup", Names: []string{"from", "connectFromField", "connectToField", "as", "depthField"},
	Constraints: Constraints{NotIn: InUpdate, OneToOne: true, KeepsOrder: true}, Privileges: readsTarget,
	Doc: "reference/operator/aggregation/graphLookup"}, readGraphLookup, parseGraphLookup)

// graphStage is $graphLookup: for each document it searches a collection recursively, breadth first.
type graphStage struct {
	ns       collection.Namespace
	start    expr.Expr
	from, to path.Path
	as       fieldName
	depth    fieldName  // field for the depth; nil = none
	max      int64      // -1 = unbounded
	restrict match.Node // nil = none
	arg      bson.Raw
}

// graphArgs are the arguments of $graphLookup as they were given.
type graphArgs struct {
	from, as, connectFrom, connectTo, depth string
	start, restrict                         bson.Value
	max                                     int64 // -1 = unbounded
	has                                     struct{ from, as, start, connectFrom, connectTo, depth, restrict bool }
	arg                                     bson.Raw
}

func (a *graphArgs) mentioned() Mentioned { return Mentioned{NS: collection.Namespace{Coll: a.from}} }

func readGraphLookup(arg bson.Value) (*graphArgs, error) {
	d, err := documentArg(arg, mongoerr.FailedToParse, "the $graphLookup stage specification must be an object, but found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	a := &graphArgs{arg: d, max: -1}
	for it := d.Iter(); it.Next(); {
		v, name := it.Value, string(it.Name)
		switch name {
		case "startWith":
			a.start, a.has.start = v, true
			continue
		case "maxDepth":
			if !v.IsNumber() {
				return nil, mongoerr.New(40100, "maxDepth requires a numeric argument, found type: %s", v.Type)
			}
			n, ok := v.AsInt64()
			if !ok {
				return nil, mongoerr.New(40102, "maxDepth could not be represented as a long long")
			}
			if n < 0 {
				return nil, mongoerr.New(40101, "maxDepth requires a nonnegative argument, found: %d", n)
			}
			a.max = n
			continue
		case "restrictSearchWithMatch":
			if _, ok := v.Doc(); !ok {
				return nil, mongoerr.New(40185, "restrictSearchWithMatch must be an object, found %s", v.Type)
			}
			a.restrict, a.has.restrict = v, true
			continue
		case "from", "as", "connectFromField", "connectToField", "depthField":
		default:
			return nil, mongoerr.New(40104, "Unknown argument to $graphLookup: %s", name)
		}
		text, ok := v.Str()
		if !ok || v.Type != bson.TypeString {
			return nil, mongoerr.New(40103, "expected string as argument for %s, found: %s", name, v.Type)
		}
		switch name {
		case "from":
			a.from, a.has.from = text, true
		case "as":
			a.as, a.has.as = text, true
		case "connectFromField":
			a.connectFrom, a.has.connectFrom = text, true
		case "connectToField":
			a.connectTo, a.has.connectTo = text, true
		case "depthField":
			a.depth, a.has.depth = text, true
		}
	}
	return a, nil
}

func parseGraphLookup(p *parser, a *graphArgs) (stages []Stage, err error) {
	s := &graphStage{arg: a.arg, max: a.max, ns: collection.Namespace{DB: p.ns.DB, Coll: a.from}}
	if a.has.from && badCollection(a.from) {
		return nil, mongoerr.BadNamespace(s.ns.DB + "." + a.from)
	}
	if a.has.start {
		if s.start, err = expr.Parse(p.env, a.start); err != nil {
			return nil, err
		}
	}
	if a.has.restrict {
		f, _ := a.restrict.Doc()
		if s.restrict, err = match.Parse(p.env, f); err != nil {
			return nil, err
		}
		if err := checkMatch(s.restrict); err != nil {
			return nil, err
		}
		if match.Features(s.restrict)&match.UsesText != 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "Failed to parse 'restrictSearchWithMatch' option to $graphLookup: $text is not allowed in this context")
		}
	}
	if a.has.as {
		if s.as, err = checkField(a.as); err != nil {
			return nil, err
		}
	}
	if a.has.connectFrom {
		if s.from, err = order.CheckedPath(a.connectFrom); err != nil {
			return nil, err
		}
	}
	if a.has.connectTo {
		if s.to, err = order.CheckedPath(a.connectTo); err != nil {
			return nil, err
		}
	}
	if a.has.depth {
		if s.depth, err = checkField(a.depth); err != nil {
			return nil, err
		}
	}
	if !a.has.from || !a.has.as || !a.has.start || !a.has.connectFrom || !a.has.connectTo {
		return nil, mongoerr.New(40105, "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.")
	}
	return []Stage{s}, nil
}

func (s *graphStage) Name() string             { return "$graphLookup" }
func (s *graphStage) Constraints() Constraints { return stageGraphLookup.Constraints }
func (s *graphStage) Split() Split             { return everywhere(s) }
func (s *graphStage) Append(b *bson.Builder)   { b.Raw("$graphLookup", s.arg) }

func (s *graphStage) Reads(add func(string)) bool {
	s.start.Paths(add)
	if len(s.as) > 1 {
		add(s.as[0])
	}
	return false
}

func (s *graphStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	return &graphOp{base: base{in: in, stage: s}, graphStage: s, opener: o, examined: examined{on: o.Explains()}}, nil
}

type graphOp struct {
	base
	maker
	*graphStage
	opener   Opener
	env      *mql.Env
	visited  map[string]struct{} // keys of the _ids of the documents found, independent of the collation
	key      []byte
	found    []bson.Raw
	held     int
	frontier valueSet
	next     valueSet
	seen     valueSet // values that were already looked up
	joined   []byte
	examined examined
	reads    int          // number of reads of the foreign collection
	table    *lookupTable // the foreign documents by value, nil = each level reads them
}

// frontierMax is the number of values that one read looks up.
const frontierMax = 1000

func (o *graphOp) Next(env *mql.Env) (*exec.Row, error) {
	o.env = env
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	if err := o.search(env, r); err != nil {
		return nil, err
	}
	b := bson.NewArrayBuilder(o.joined[:0])
	for _, d := range o.found {
		b.Raw("", d)
	}
	o.joined = b.Finish()
	appendWith(o.begin(), r.Doc, o.as, bson.Value{Type: bson.TypeArray, Data: o.joined})
	o.release()
	o.returned++
	return o.end(env, r)
}

func (o *graphOp) Park() (int, bool) { o.buf, o.joined = nil, nil; return o.in.Park() }

// search runs the search for one document of the input.
func (o *graphOp) search(env *mql.Env, r *exec.Row) error {
	o.release()
	o.setRow(r)
	v, err := o.start.Eval(env, r.Doc, &o.scratch)
	if err != nil {
		return err
	}
	if a, ok := v.Array(); ok {
		for it := a.Iter(); it.Next(); {
			o.addToFrontier(env, it.Value)
		}
	} else if !v.IsMissing() { // a missing value selects no documents, null those without the field
		o.addToFrontier(env, v)
	}
	for depth := int64(0); len(o.next.values) > 0 && (o.max < 0 || depth <= o.max); depth++ {
		o.frontier, o.next = o.next, o.frontier
		o.next.reset()
		values := o.frontier.values
		for len(values) > 0 {
			n := min(len(values), frontierMax)
			if err := o.level(env, values[:n], depth); err != nil {
				return err
			}
			values = values[n:]
		}
	}
	return nil
}

// addToFrontier adds a value to those that the next level of the search looks up, unless it was already looked
// up.
func (o *graphOp) addToFrontier(env *mql.Env, v bson.Value) {
	if _, fresh := o.seen.add(env, v); fresh {
		o.next.add(env, v)
	}
}

// level visits, for one level, the documents with a value in connectToField that match restrictSearchWithMatch.
func (o *graphOp) level(env *mql.Env, values []bson.Value, depth int64) error {
	p, err := o.levelQuery(env, values)
	if err != nil {
		return err
	}
	if o.reads++; o.reads == graphTableReads || o.reads == graphSpillReads && o.table == nil && env.Memory.CanSpill() {
		if err := o.tabulate(env, p); err != nil {
			return err
		}
	}
	if o.table != nil && !slices.ContainsFunc(values, isUndefined) {
		return o.levelFromTable(env, values, depth)
	}
	op, err := o.opener.Open(env, o.ns, p)
	if err != nil {
		return err
	}
	defer o.endRead(op)
	for {
		r, err := op.Next(env)
		if r == nil || err != nil {
			return err
		}
		if err := env.Tick(); err != nil {
			return err
		}
		if err := o.visit(env, r.Doc, depth); err != nil {
			return err
		}
	}
}

// levelFromTable visits the documents of a level that the table has.
func (o *graphOp) levelFromTable(env *mql.Env, values []bson.Value, depth int64) error {
	found, err := o.table.find(env, values)
	if err != nil {
		return err
	}
	for _, at := range found {
		if err := env.Tick(); err != nil {
			return err
		}
		doc, err := o.table.document(at)
		if err != nil {
			return err
		}
		if err := o.visit(env, doc, depth); err != nil {
			return err
		}
	}
	return nil
}

// levelQuery returns the pipeline that reads the documents of a level.
func (o *graphOp) levelQuery(env *mql.Env, values []bson.Value) (*Pipeline, error) {
	n, err := equality(env, o.to, values)
	if err != nil {
		return nil, err
	}
	if o.restrict != nil {
		n = match.AllOf(n, o.restrict)
	}
	probes := &Probes{Path: o.to.String(), Values: values, Alone: o.restrict == nil}
	return &Pipeline{NS: o.ns, stages: []Stage{&matchStage{node: n}}, probes: probes}, nil
}

// graphTableReads is the number of the read before which a table of the foreign documents is built, if no index finds
// them. Searches with fewer reads need none.
const graphTableReads = 4

// graphSpillReads is the number of the read before which one is built that memory does not hold.
const graphSpillReads = 16

// tabulate builds the table if the query p of a level would scan the foreign collection. A condition with random
// values is evaluated by each read.
func (o *graphOp) tabulate(env *mql.Env, p *Pipeline) error {
	if o.restrict != nil && match.Features(o.restrict) != 0 {
		return nil
	}
	a, err := o.opener.Survey(env, o.ns, p, o.to.String())
	if err != nil || a.Indexed {
		return err
	}
	b := tableBuilder{stage: "$graphLookup", spills: o.reads == graphSpillReads, opener: o.opener, ns: o.ns, path: o.to, condition: o.restrict, null: true, scratch: &o.scratch, end: o.endRead}
	o.table, err = b.build(env)
	return err
}

func isUndefined(v bson.Value) bool { return v.Type == bson.TypeUndefined }

// endRead closes a read of the foreign collection.
func (o *graphOp) endRead(op exec.Operator) {
	op.Close()
	o.examined.add(op)
}

// visit stores a document unless it was visited before.
func (o *graphOp) visit(env *mql.Env, doc bson.Raw, depth int64) error {
	k := keystring.Append(o.key[:0], doc.Get("_id"), keystring.Ascending, nil, nil)
	o.key = k
	if _, ok := o.visited[string(k)]; ok {
		return nil
	}
	if o.visited == nil {
		o.visited = map[string]struct{}{}
	}
	o.visited[string(k)] = struct{}{}
	kept := doc.Clone()
	if o.depth != nil {
		b := bson.NewBuilder(nil)
		o.scratch.Reset()
		appendWith(b, doc, o.depth, o.scratch.Int64(depth))
		kept = b.Doc()
	}
	o.found = append(o.found, kept)
	n := len(kept) + len(k) + 64
	o.held += n
	if err := env.Memory.GrowRequired(n, "$graphLookup"); err != nil {
		return err
	}
	if o.held > listBytesMax {
		return mongoerr.New(40099, "$graphLookup reached maximum memory consumption")
	}
	localValues(doc, o.from, func(v bson.Value) { o.addToFrontier(env, v) })
	return nil
}

func (o *graphOp) release() {
	if o.held > 0 {
		o.env.Memory.Shrink(o.held)
		o.held = 0
	}
	clear(o.visited)
	o.found = o.found[:0]
	o.frontier.reset()
	o.next.reset()
	o.seen.reset()
}

func (o *graphOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.release()
	if o.env != nil {
		o.table.drop(o.env)
	}
}

func (o *graphOp) explainStats(b *bson.Builder) {
	o.examined.append(b)
	if o.table != nil {
		o.table.tracked().Append(b)
	}
}

func (o *graphOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }

// passMatch moves conditions of a following $match in front of the $graphLookup, except those on the field that
// it adds.
func (s *graphStage) passMatch(m *matchStage) ([]Stage, bool) {
	return pushParts(s, m, free(s.as, nil))
}
