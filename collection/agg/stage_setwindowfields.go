package agg

import (
	"bytes"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageSetWindowFields = StageDef{Name: "$setWindowFields", Parse: parseSetWindowFields,
	Constraints: Constraints{Blocking: true, NotIn: InUpdate}, ShapesPlan: true,
	Doc: "reference/operator/aggregation/setWindowFields", Since: "5.0"}

// windowStage is $setWindowFields: it computes fields over windows of the documents of each partition.
type windowStage struct {
	partition expr.Expr // nil: a single partition
	by        order.Pattern
	ordered   bool     // sortBy is given; it may be empty, then the order is that of the input
	byNames   []string // of a single sort field, for ranges
	out       []windowOutput
	dotted    bool // a path of out has several components
	arg       bson.Raw
}

// windowOutput is one computed field.
type windowOutput struct {
	field fieldName
	fn    windowFunc
}

func parseSetWindowFields(p *parser, name string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, mongoerr.FailedToParse, "the $setWindowFields stage specification must be an object, found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	s := &windowStage{arg: d}
	var partition, by, out bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "partitionBy":
			partition = it.Value
		case "sortBy":
			by = it.Value
		case "output":
			out = it.Value
		default:
			return nil, mongoerr.New(40415, "BSON field '$setWindowFields.%s' is an unknown field.", it.Name)
		}
	}
	if !by.IsMissing() {
		spec, ok := by.Doc()
		if !ok {
			return nil, mongoerr.WrongType("$setWindowFields.sortBy", by.Type.String(), "object")
		}
		if s.by, err = order.Parse(p.env, spec); err != nil {
			return nil, err
		}
		s.ordered = true
		if len(s.by.Parts) == 1 {
			s.byNames = strings.Split(s.by.Parts[0].Name, ".")
		}
	}
	outputs, ok := out.Doc()
	switch {
	case out.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '$setWindowFields.output' is missing but a required field")
	case !ok:
		return nil, mongoerr.WrongType("$setWindowFields.output", out.Type.String(), "object")
	}
	if !partition.IsMissing() {
		if s.partition, err = expr.Parse(p.env, partition); err != nil {
			return nil, err
		}
	}
	conflicts := pathConflicts{}
	for it := outputs.Iter(); it.Next(); {
		o, err := p.windowOutput(s, string(it.Name), it.Value)
		if err != nil {
			return nil, err
		}
		if other := conflicts.add(o.field); other != "" {
			return nil, mongoerr.New(40176, "specification contains two conflicting paths. Cannot specify both '%s' and '%s'", other, name)
		}
		if len(o.field) > 1 {
			s.dotted = true
		}
		s.out = append(s.out, o)
	}
	return []Stage{s}, nil
}

// pathConflicts finds paths of which one contains the other.
type pathConflicts map[string]string // the path that was added first, by itself and by the paths that contain it

// add adds a path. It returns an earlier path that contains it, or that it contains; "" if there is none.
func (c pathConflicts) add(f fieldName) (other string) {
	whole := f.String()
	if first, ok := c[whole]; ok {
		return first
	}
	for i := range f {
		prefix := f[:i+1].String()
		if first, ok := c[prefix]; ok && first == prefix {
			return first
		}
		if _, ok := c[prefix]; !ok {
			c[prefix] = whole
		}
	}
	return ""
}

// windowOutput reads {field: {$function: argument, window: …}}.
func (p *parser) windowOutput(s *windowStage, name string, v bson.Value) (windowOutput, error) {
	field, err := checkField(name)
	if err != nil {
		return windowOutput{}, err
	}
	d, ok := v.Doc()
	if !ok {
		return windowOutput{}, mongoerr.New(mongoerr.FailedToParse, "The field '%s' must be an object", name)
	}
	c := &windowCall{stage: s}
	for it := d.Iter(); it.Next(); {
		switch f := string(it.Name); {
		case f == "window":
			if c.window, err = parseWindow(p.env, it.Value); err != nil {
				return windowOutput{}, err
			}
		case p.isRanking(c.name) || p.isRanking(f) && c.name != "":
			return windowOutput{}, mongoerr.New(5371601, "Rank style window functions take no other arguments")
		case f == "" || f[0] != '$':
			return windowOutput{}, mongoerr.New(mongoerr.FailedToParse, "Window function found an unknown argument: %s", f)
		case c.name != "":
			return windowOutput{}, mongoerr.New(mongoerr.FailedToParse, "Cannot specify two functions in window function spec")
		default:
			c.name, c.arg = f, it.Value
		}
	}
	if c.name == "" {
		return windowOutput{}, mongoerr.New(mongoerr.FailedToParse, "Expected a $-prefixed window function, %s", name)
	}
	if w := c.window; w != nil {
		if err := s.allows(w); err != nil {
			return windowOutput{}, err
		}
	}
	fn, err := p.calledInWindow(c)
	return windowOutput{field, fn}, err
}

// isRanking reports whether a window function, such as $rank, takes no argument and depends only on the order.
func (p *parser) isRanking(name string) bool {
	def := p.windowFunction(name)
	return def != nil && def.ranking
}

// allows returns an error if the stage's sort order does not fit a window, such as a range without a single
// sort field.
func (s *windowStage) allows(w *window) error {
	bounded := !w.lo.unbounded || !w.hi.unbounded
	switch {
	case w.kind == byDocuments && bounded && !s.ordered:
		return mongoerr.New(5339901, "Document-based bounds require a sortBy")
	case w.kind == byRange && len(s.by.Parts) != 1:
		return mongoerr.New(5339902, "Range-based window require sortBy a single field")
	case w.kind == byRange && s.by.Parts[0].Dir != keystring.Ascending:
		return mongoerr.New(8947401, "Range-based bounds require an ascending sortBy")
	}
	return nil
}

// calledInWindow parses a call of a window function, or of an accumulator over a window; without a window, over
// the whole partition.
func (p *parser) calledInWindow(c *windowCall) (windowFunc, error) {
	if def := p.windowFunction(c.name); def != nil {
		return def.parse(p, c)
	}
	def := p.accumulator(c.name)
	if def == nil || def.OnlyGroups {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized window function, %s", c.name)
	}
	q := *p
	q.window = true
	fn, err := def.Parse(&q, c.name, c.arg)
	if err != nil {
		return nil, err
	}
	w := c.window
	if w == nil {
		whole := wholeWindow
		w = &whole
	}
	return &windowed{fn, w}, nil
}

func (s *windowStage) Name() string             { return "$setWindowFields" }
func (s *windowStage) Constraints() Constraints { return stageSetWindowFields.Constraints }
func (s *windowStage) Split() Split             { return merged(s) }
func (s *windowStage) Append(b *bson.Builder)   { b.Raw("$setWindowFields", s.arg) }

func (s *windowStage) Reads(add func(string)) bool {
	if s.partition != nil {
		s.partition.Paths(add)
	}
	s.by.Paths(func(p path.Path) { add(p.String()) })
	for _, o := range s.out {
		o.fn.paths(add)
		if len(o.field) > 1 {
			add(o.field[0])
		}
	}
	return false
}

func (s *windowStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &windowOp{base: base{in: in, stage: s}, windowStage: s,
		rows: rowSorter{what: "$setWindowFields"}, docs: spool{what: "$setWindowFields"}}, nil
}

// windowOp is the operator of $setWindowFields. It sorts its input by partition and sort order, then computes
// the fields of one partition after the other.
type windowOp struct {
	base
	maker
	*windowStage
	env    *mql.Env
	rows   rowSorter
	docs   spool // the documents of the partition
	part   *partition
	cursor spoolCursor
	runs   []windowRun
	at     int
	loaded bool
	key    []byte // of the partition being read
	next   bson.Raw
	nmeta  bson.Raw
	nkey   []byte
	values bson.Builder
	vbuf   []byte
	list   []bson.Value   // the values of vbuf
	byName map[string]int // positions in out; nil before the first row, and if a path has several components
	bufs   [2][]byte
}

func (o *windowOp) Next(env *mql.Env) (*exec.Row, error) {
	o.env = env
	if !o.loaded {
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	for o.at == o.docs.len() {
		if o.next == nil {
			o.finish(env)
			return nil, nil
		}
		if err := o.nextPartition(env); err != nil {
			return nil, err
		}
	}
	return o.compute(env)
}

// Park releases nothing: the input was read to its end before the first row.
func (*windowOp) Park() (int, bool) { return 0, true }

// load sorts the input.
func (o *windowOp) load(env *mql.Env) error {
	var key []byte
	err := exec.Drain(env, o.in, func(r *exec.Row) (err error) {
		o.setRow(r)
		if key, err = o.partitionKey(env, key[:0], r.Doc); err != nil {
			return err
		}
		if key, err = exec.AppendKey(env, &o.by, key, r); err != nil {
			return err
		}
		return o.rows.add(env, key, r.Doc, o.metas.metaToStore(r))
	})
	if err != nil {
		return err
	}
	if err := o.rows.finish(env); err != nil {
		return err
	}
	return o.advance(env)
}

// partitionKey appends the key of a document's partition.
func (o *windowOp) partitionKey(env *mql.Env, dst []byte, doc bson.Raw) ([]byte, error) {
	if o.partition == nil {
		return dst, nil
	}
	v, err := o.partition.Eval(env, doc, &o.scratch)
	if err != nil {
		return nil, err
	}
	if v.Type == bson.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "An expression used to partition cannot evaluate to value of type array")
	}
	return keystring.Append(dst, v, keystring.Ascending, env.Order(), nil), nil
}

// advance reads the next sorted row.
func (o *windowOp) advance(env *mql.Env) (err error) {
	if _, o.next, o.nmeta, err = o.rows.next(); o.next == nil || err != nil {
		return err
	}
	o.scratch.Reset()
	o.metas.giveStored(o.nmeta, &o.scratch)
	o.nkey, err = o.partitionKey(env, o.nkey[:0], o.next)
	return err
}

// nextPartition reads the next partition.
func (o *windowOp) nextPartition(env *mql.Env) error {
	o.finish(env)
	if err := o.docs.reset(); err != nil {
		return err
	}
	o.cursor = spoolCursor{s: &o.docs}
	o.key = append(o.key[:0], o.nkey...)
	for o.next != nil && bytes.Equal(o.key, o.nkey) {
		if err := o.docs.add(env, o.next, o.nmeta); err != nil {
			return err
		}
		if err := o.advance(env); err != nil {
			return err
		}
	}
	o.part = &partition{docs: &o.docs, stage: o.windowStage, metas: o.metas}
	for _, out := range o.out {
		o.runs = append(o.runs, out.fn.start(o.part))
	}
	o.at = 0
	return nil
}

func (o *windowOp) finish(env *mql.Env) {
	for _, r := range o.runs {
		r.close(env)
	}
	o.runs = o.runs[:0]
}

// compute returns the row at the current position of the partition, with the computed fields.
func (o *windowOp) compute(env *mql.Env) (*exec.Row, error) {
	if err := env.Tick(); err != nil {
		return nil, err
	}
	doc, meta, err := o.cursor.get(o.at)
	if err != nil {
		return nil, err
	}
	o.part.meta = meta
	like := exec.Row{Meta: meta}
	o.values.ResetArray(o.vbuf[:0])
	for _, r := range o.runs {
		before := o.values.Count()
		if err := r.at(env, &o.values, "", o.at, doc); err != nil {
			return nil, err
		}
		if o.values.Count() == before {
			o.values.Null("")
		}
	}
	o.vbuf = o.values.Finish()
	o.at++
	o.returned++
	if !o.dotted && len(o.out) > 1 {
		if err := o.appendFields(env, doc); err != nil {
			return nil, err
		}
		return o.end(env, &like)
	}
	it := bson.Raw(o.vbuf).Iter()
	for i, out := range o.out {
		it.Next()
		if i == len(o.out)-1 {
			if err := appendEach(env, o.begin(), doc, out.field, it.Value); err != nil {
				return nil, err
			}
			return o.end(env, &like)
		}
		b := bson.NewBuilder(o.bufs[i%2][:0])
		if err := appendEach(env, b, doc, out.field, it.Value); err != nil {
			return nil, err
		}
		o.bufs[i%2] = b.Finish()
		doc = bson.Raw(o.bufs[i%2])
	}
	if err := o.scratch.CountExtra(env, cap(o.bufs[0])+cap(o.bufs[1])); err != nil {
		return nil, err
	}
	o.begin().Splice(doc.Elements())
	return o.end(env, &like)
}

// appendFields begins the row with the fields of doc and the computed values, whose names have one component: the value of
// a field that doc has takes its place, others follow.
func (o *windowOp) appendFields(env *mql.Env, doc bson.Raw) error {
	if o.byName == nil {
		o.byName = make(map[string]int, len(o.out))
		for i, out := range o.out {
			o.byName[out.field[0]] = i
		}
	}
	o.list = o.list[:0]
	for it := bson.Raw(o.vbuf).Iter(); it.Next(); {
		o.list = append(o.list, it.Value)
	}
	b := o.begin()
	for it := doc.Iter(); it.Next(); {
		i, ok := o.byName[string(it.Name)]
		if !ok || o.list[i].IsMissing() { // computed by no output, or written before
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		b.ValueBytes(it.Name, o.list[i])
		o.list[i] = bson.Value{}
	}
	for i, out := range o.out {
		if !o.list[i].IsMissing() {
			b.Value(out.field[0], o.list[i])
		}
	}
	return env.Spend(len(o.vbuf))
}

func (o *windowOp) Close() {
	o.base.Close()
	o.scratch.Close()
	if o.env != nil {
		o.finish(o.env)
	}
	o.rows.close()
	o.docs.close()
	o.loaded, o.next, o.at = true, nil, 0
}

func (o *windowOp) explainStats(b *bson.Builder) {
	o.rows.Add(o.docs.Tracked).Append(b)
}

func (o *windowOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }

// passMatch moves conditions of a following $match on the partition key in front of the $setWindowFields.
func (s *windowStage) passMatch(m *matchStage) ([]Stage, bool) { return pushWhole(s, m, s.origin) }

// origin returns the path of the partition key unchanged, if it is a top-level field to which the stage does not
// write; ok is false for other paths.
func (s *windowStage) origin(p path.Path) (path.Path, bool) {
	if s.partition == nil {
		return p, false
	}
	for _, o := range s.out {
		if p.First() == o.field[0] {
			return p, false
		}
	}
	from, ok := expr.FieldPath(s.partition)
	return p, ok && p.Len() == 1 && p.String() == from
}
