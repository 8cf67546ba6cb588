package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageDensify = StageDef{Name: "$densify", Names: []string{"field"}, Parse: parseDensify, Constraints: Constraints{Blocking: true, NotIn: InUpdate}, ShapesPlan: true,
	Doc: "reference/operator/aggregation/densify", Since: "5.1"}

// densifyStage is $densify: it adds documents for the values of a sequence that are missing in a field.
type densifyStage struct {
	field     fieldName
	partition []fieldName
	step      bson.Value
	stepUnits int64
	unit      *expr.DateUnit // nil: numbers
	full      bool           // bounds: over all documents
	each      bool           // bounds: per partition
	lo, hi    bson.Value     // explicit bounds, hi exclusive
	arg       bson.Raw
	fieldPath path.Path
}

func parseDensify(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 5733400, "The $densify stage specification must be an object, found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	s := &densifyStage{arg: d}
	var field, rng, parts bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "field":
			field = it.Value
		case "partitionByFields":
			parts = it.Value
		case "range":
			rng = it.Value
		default:
			return nil, mongoerr.New(40415, "BSON field '$densify.%s' is an unknown field.", it.Name)
		}
	}
	text, ok := field.Str()
	switch {
	case field.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '$densify.field' is missing but a required field")
	case rng.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '$densify.range' is missing but a required field")
	case !ok:
		return nil, mongoerr.WrongType("$densify.field", field.Type.String(), "string")
	case rng.Type != bson.TypeDocument:
		return nil, mongoerr.WrongType("$densify.range", rng.Type.String(), "object")
	case len(text) > 0 && text[0] == '$':
		return nil, mongoerr.New(16410, "Cannot densify field starting with '$'")
	}
	if s.field, err = checkField(text); err != nil {
		return nil, err
	}
	s.fieldPath = path.Must(text)
	if !parts.IsMissing() {
		a, ok := parts.Array()
		if !ok {
			return nil, mongoerr.WrongType("$densify.partitionByFields", parts.Type.String(), "array")
		}
		for it := a.Iter(); it.Next(); {
			text, ok := it.Value.Str()
			if !ok {
				return nil, mongoerr.WrongType("$densify.partitionByFields", it.Value.Type.String(), "string")
			}
			if len(text) > 0 && text[0] == '$' {
				return nil, mongoerr.New(8993000, "PartitionByFields cannot start with '$'")
			}
			f, err := checkField(text)
			if err != nil {
				return nil, err
			}
			p := path.Must(text)
			if p.Conflicts(s.fieldPath) {
				return nil, mongoerr.New(9554500, "BSON field '$densify.partitionByFields' must not overlap with 'field'")
			}
			s.partition = append(s.partition, f)
		}
	}
	return []Stage{s}, s.parseRange(p, bson.Raw(rng.Data))
}

// parseRange reads {step, unit, bounds}.
func (s *densifyStage) parseRange(p *parser, d bson.Raw) error {
	var step, unit, bounds bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "step":
			step = it.Value
		case "unit":
			unit = it.Value
		case "bounds":
			bounds = it.Value
		default:
			return mongoerr.New(40415, "BSON field '$densify.range.%s' is an unknown field.", it.Name)
		}
	}
	switch {
	case step.IsMissing():
		return mongoerr.New(40414, "BSON field '$densify.range.step' is missing but a required field")
	case bounds.IsMissing():
		return mongoerr.New(40414, "BSON field '$densify.range.bounds' is missing but a required field")
	case !step.IsNumber():
		return mongoerr.WrongType("$densify.range.step", step.Type.String(), "int", "decimal", "double", "long")
	}
	if f, _ := step.AsFloat(); !(f > 0) {
		return mongoerr.New(5733401, "the step parameter in a range statement must be a strictly positive numeric value")
	}
	s.step = step.Clone()
	if !unit.IsMissing() {
		text, ok := unit.Str()
		if !ok {
			return mongoerr.WrongType("$densify.range.unit", unit.Type.String(), "string")
		}
		u, err := expr.DateUnitOf(p.env, text)
		if err != nil {
			return err
		}
		s.unit = &u
		if s.stepUnits, ok = step.AsInt64(); !ok {
			return mongoerr.New(6586400, "The step parameter in a range statement must be a whole number when densifying a date range")
		}
	}
	if text, ok := bounds.Str(); ok && bounds.Type == bson.TypeString {
		switch text {
		case "full":
			s.full = true
		case "partition":
			if s.partition == nil {
				return mongoerr.New(5733408, "one may not specify the bounds as 'partition' without specifying a non-empty array of partitionByFields")
			}
			s.each = true
		default:
			return mongoerr.New(5946802, "Bounds string must either be 'full' or 'partition'")
		}
		return nil
	}
	return s.parseBounds(bounds)
}

// parseBounds reads [lower, upper].
func (s *densifyStage) parseBounds(v bson.Value) error {
	a, ok := v.Array()
	if !ok {
		return mongoerr.New(5733402, "the bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two dates")
	}
	if a.Len() != 2 {
		return mongoerr.New(5733403, "a bounding array in a range statement must have exactly two elements")
	}
	lo, _ := a.Index(0)
	hi, _ := a.Index(1)
	switch {
	case lo.IsNumber() && hi.IsNumber():
		if s.unit != nil {
			return mongoerr.New(5733409, "numeric bounds may not have unit parameter")
		}
	case lo.Type == bson.TypeDateTime && hi.Type == bson.TypeDateTime:
		if s.unit == nil {
			return mongoerr.New(5733410, "date bounds must have a unit")
		}
	default:
		return mongoerr.New(5733406, "a bounding array must contain either both dates or both numeric types")
	}
	if bson.Compare(lo, hi, nil) > 0 {
		return mongoerr.New(5733407, "the bounding array must be ascending")
	}
	s.lo, s.hi = lo.Clone(), hi.Clone()
	return nil
}

func (s *densifyStage) Name() string             { return "$densify" }
func (s *densifyStage) Constraints() Constraints { return stageDensify.Constraints }
func (s *densifyStage) Split() Split             { return merged(s) }
func (s *densifyStage) Append(b *bson.Builder)   { b.Raw("$densify", s.arg) }
func (s *densifyStage) Reads(add func(string)) bool {
	add(s.field.String())
	for _, f := range s.partition {
		add(f.String())
	}
	return false
}

func (s *densifyStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &densifyOp{base: base{in: in, stage: s}, densifyStage: *s, rows: rowSorter{what: "$densify"}, parts: map[string]*densePart{}}, nil
}

// densifyOp is the operator of $densify. It sorts its input by the field (by partition first, if each partition
// has its own bounds) and generates the missing documents before each document and after the last.
type densifyOp struct {
	base
	maker
	densifyStage
	rows   rowSorter
	loaded bool
	parts  map[string]*densePart
	order  []*densePart
	doc    bson.Raw   // next document of the input, after the generated ones
	meta   bson.Raw   // of doc
	value  bson.Value // of doc
	part   *densePart // of doc, or the partition being finished
	min    bson.Value // of all documents
	last   bson.Value // greatest value of all documents
	ending int        // partitions finished, once the input has ended
	ended  bool
	made   int64
	key    []byte
	nested [2][]byte
}

// densePart is the state of one partition of a $densify: the values of the partition's fields, and the position
// in its sequence.
type densePart struct {
	fields []bson.Value
	next   bson.Value // the next value of the sequence; missing before the first
}

// densifyMax limits the documents that one $densify may generate.
// Manual: reference/operator/aggregation/densify#limits.
const densifyMax = 500000

func (o *densifyOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	for {
		if err := env.Tick(); err != nil {
			return nil, err
		}
		if o.doc == nil && !o.ended {
			if err := o.advance(env); err != nil {
				return nil, err
			}
		}
		if o.ended {
			return o.finish(env)
		}
		r, err := o.deliver(env)
		if r != nil || err != nil {
			return r, err
		}
	}
}

// Park releases nothing: the input was read to its end before the first row.
func (*densifyOp) Park() (int, bool) { return 0, true }

// load sorts the input.
func (o *densifyOp) load(env *mql.Env) error {
	var key []byte
	err := exec.Drain(env, o.in, func(r *exec.Row) error {
		key = key[:0]
		if o.each {
			key = o.partKey(env, key, r.Doc)
		}
		key = keystring.Append(key, o.field.get(r.Doc), keystring.Ascending, env.Order(), nil)
		return o.rows.add(env, key, r.Doc, o.metas.metaToStore(r))
	})
	if err != nil {
		return err
	}
	return o.rows.finish(env)
}

func (o *densifyOp) partKey(env *mql.Env, dst []byte, doc bson.Raw) []byte {
	for _, f := range o.partition {
		dst = keystring.Append(dst, f.get(doc), keystring.Ascending, env.Order(), nil)
	}
	return dst
}

// advance reads the next document.
func (o *densifyOp) advance(env *mql.Env) (err error) {
	if _, o.doc, o.meta, err = o.rows.next(); err != nil {
		return err
	}
	if o.doc == nil {
		o.ended = true
		return nil
	}
	o.value = o.field.get(o.doc)
	if o.value.IsNullish() {
		o.part = nil
		return nil
	}
	switch {
	case o.unit != nil && o.value.Type != bson.TypeDateTime:
		return mongoerr.New(6053600, "PlanExecutor error: densify field type must be a date when a unit is given, found %s", o.value.Type)
	case o.unit == nil && o.value.Type == bson.TypeDateTime:
		return mongoerr.New(6053600, "densify: a unit is required to densify dates")
	case o.unit == nil && !o.value.IsNumber():
		return mongoerr.New(5733201, "Densify field type must be numeric or a date, found %s", o.value.Type)
	}
	if o.min.IsMissing() {
		o.min = o.value.Clone()
	}
	o.last = o.value.Clone()
	o.key = o.partKey(env, o.key[:0], o.doc)
	o.part = o.parts[string(o.key)]
	if o.part == nil {
		o.part = &densePart{}
		for _, f := range o.partition {
			o.part.fields = append(o.part.fields, f.get(o.doc).Clone())
		}
		switch {
		case o.full:
			o.part.next = o.min
		case o.each:
			o.part.next = o.last
		default:
			o.part.next = o.lo
		}
		o.parts[string(o.key)] = o.part
		o.order = append(o.order, o.part)
	}
	return nil
}

// deliver returns the next row of a $densify: a generated document, or the next document of the input.
func (o *densifyOp) deliver(env *mql.Env) (*exec.Row, error) {
	if p := o.part; p != nil {
		c := bson.Compare(p.next, o.value, nil)
		inside := o.hi.IsMissing() || bson.Compare(p.next, o.hi, nil) < 0
		if c < 0 && inside {
			return o.generate(env, p)
		}
		if c == 0 && inside {
			if err := o.forward(p); err != nil {
				return nil, err
			}
		}
	}
	doc := o.doc
	o.doc = nil
	o.returned++
	o.begin().Splice(doc.Elements())
	return o.end(env, &exec.Row{Meta: o.meta})
}

// finish generates the missing documents after the last document of each partition.
func (o *densifyOp) finish(env *mql.Env) (*exec.Row, error) {
	if o.each {
		return nil, nil
	}
	if len(o.order) == 0 && !o.lo.IsMissing() && len(o.partition) == 0 {
		o.order = append(o.order, &densePart{next: o.lo}) // an empty input is filled too
	}
	for o.ending < len(o.order) {
		p := o.order[o.ending]
		more := false
		if o.full {
			more = bson.Compare(p.next, o.last, nil) <= 0
		} else {
			more = bson.Compare(p.next, o.hi, nil) < 0
		}
		if more {
			return o.generate(env, p)
		}
		o.ending++
	}
	return nil, nil
}

// generate returns a row with the next value of a partition's sequence, for which the input has no document.
func (o *densifyOp) generate(env *mql.Env, p *densePart) (*exec.Row, error) {
	if o.made++; o.made > densifyMax {
		return nil, mongoerr.New(5897900, "Generated %d documents in $densify, which is over the limit of %d. Increase the 'internalQueryMaxAllowedDensifyDocs' parameter to allow this", o.made, densifyMax)
	}
	doc := bson.Empty
	for i, v := range p.fields {
		if v.IsMissing() {
			continue
		}
		b := bson.NewBuilder(o.nested[i%2][:0])
		appendWith(b, doc, o.partition[i], v)
		o.nested[i%2] = b.Finish()
		doc = bson.Raw(o.nested[i%2])
	}
	appendWith(o.begin(), doc, o.field, p.next)
	o.returned++
	r, err := o.end(env, nil)
	if err != nil {
		return nil, err
	}
	return r, o.forward(p)
}

// forward moves a partition to the next value of its sequence.
func (o *densifyOp) forward(p *densePart) error {
	var a bson.Arena
	if o.unit == nil {
		v, err := expr.Add(&a, p.next, o.step)
		p.next = v
		return err
	}
	ms, _ := p.next.DateTime()
	ms, err := o.unit.Add("$densify", ms, o.stepUnits)
	p.next = a.DateTime(ms)
	return err
}

func (o *densifyOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.rows.close()
	o.loaded, o.ended, o.doc = true, true, nil
	o.order, o.lo = nil, bson.Value{}
}

func (o *densifyOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
