package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageGeoNear = StageDef{Name: "$geoNear", Names: []string{"distanceField", "includeLocs", "key"}, Parse: parseGeoNear,
	Constraints: Constraints{First: true, Blocking: true, NotIn: InFacet | InUpdate}, Behind: nearFirst, Selects: addsNothing,
	Doc: "reference/operator/aggregation/geoNear"}

// geoNearStage is $geoNear: it sorts the documents by their distance from a point.
type geoNearStage struct {
	near       *geo.Near // nil before the variables of args have values
	args       *nearArgs
	geoJSON    bool // near is a GeoJSON point
	spherical  bool
	key        string // field of the geometry; "" = the field of the only geospatial index
	distance   fieldName
	locs       fieldName
	multiplier float64
	query      match.Node // nil = none
	arg        bson.Raw
}

// nearArgs are the arguments of $geoNear that may be expressions of variables, such as those of the let of a $lookup. A
// distance that is not given is nil.
type nearArgs struct{ near, least, most expr.Expr }

func parseGeoNear(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d := bson.Raw(arg.Data)
	if arg.Type != bson.TypeDocument && arg.Type != bson.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object ($geoNear)")
	}
	s := &geoNearStage{multiplier: 1, arg: d}
	var near bson.Value
	s.args = &nearArgs{}
	var err error
	for it := d.Iter(); it.Next() && arg.Type == bson.TypeDocument; {
		v, name := it.Value, string(it.Name)
		text, isText := v.Str()
		switch name {
		case "near":
			near = v
		case "distanceField":
			if !isText || v.Type != bson.TypeString {
				return nil, mongoerr.New(16606, "$geoNear requires that the 'distanceField' option is a String")
			}
			s.distance, err = checkField(text)
		case "includeLocs":
			if !isText || v.Type != bson.TypeString {
				return nil, mongoerr.New(16607, "$geoNear requires that 'includeLocs' option is a String")
			}
			s.locs, err = checkField(text)
		case "key":
			switch {
			case !isText || v.Type != bson.TypeString:
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$geoNear parameter 'key' must be of type string but found type: %s", v.Type)
			case text == "":
				return nil, mongoerr.New(mongoerr.BadValue, "$geoNear parameter 'key' cannot be the empty string")
			}
			_, err = checkField(text)
			s.key = text
		case "minDistance":
			s.args.least, err = p.withoutFields(v, 7555701, "$geoNear requires a constant 'minDistance' argument")
		case "maxDistance":
			s.args.most, err = p.withoutFields(v, 7555702, "$geoNear requires a constant 'maxDistance' argument")
		case "distanceMultiplier":
			if !v.IsNumber() {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$geoNear parameter 'distanceMultiplier' must be a number")
			}
			if s.multiplier, _ = v.AsFloat(); !(s.multiplier >= 0) {
				return nil, mongoerr.New(mongoerr.BadValue, "distanceMultiplier must be nonnegative")
			}
		case "spherical":
			s.spherical = v.Truthy()
		case "query":
			q, ok := v.Doc()
			if !ok {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$geoNear parameter 'query' must be an object")
			}
			if s.query, err = match.Parse(p.env, q); err == nil {
				err = checkMatch(s.query)
			}
			if err == nil && match.Features(s.query)&match.UsesText != 0 {
				err = mongoerr.New(mongoerr.BadValue, "$text is not allowed in a $geoNear query")
			}
		case "uniqueDocs", "limit", "num", "start":
			return nil, mongoerr.New(50858, "$geoNear no longer supports the '%s' parameter.", name)
		default:
			return nil, mongoerr.New(mongoerr.BadValue, "Unknown argument to $geoNear: %s", name)
		}
		if err != nil {
			return nil, err
		}
	}
	if near.IsMissing() {
		return nil, mongoerr.New(5860400, "$geoNear requires a 'near' argument")
	}
	if s.args.near, err = p.withoutFields(near, 5860402, "$geoNear requires a constant near argument"); err != nil {
		return nil, err
	}
	if s.args.unset(p.env) {
		return []Stage{s}, nil
	}
	return []Stage{s}, s.evaluate(p.env)
}

// withoutFields parses an argument that may use variables but no field of the document.
//
// Errors: code; errors of expr.Parse.
func (p *parser) withoutFields(v bson.Value, code mongoerr.Code, text string) (expr.Expr, error) {
	e, err := expr.Parse(p.env, v)
	if err != nil {
		return nil, err
	}
	e.Paths(func(string) { err = mongoerr.New(code, "%s", text) })
	return e, err
}

// unset reports whether an argument uses a variable that has no value yet: one of the let of a $lookup, while its pipeline
// is parsed.
func (a *nearArgs) unset(env *mql.Env) bool {
	unset := false
	for _, e := range [...]expr.Expr{a.near, a.least, a.most} {
		if e != nil {
			expr.Variables(e, func(slot int) { unset = unset || env.Vars.Get(slot).IsMissing() })
		}
	}
	return unset
}

// evaluate sets near from the values of the arguments.
//
// Errors: TypeMismatch, BadValue, 5860401; errors of the evaluation.
func (s *geoNearStage) evaluate(env *mql.Env) error {
	lo, hi := 0.0, math.Inf(1)
	var err error
	if s.args.least != nil {
		if lo, err = distance(env, "minDistance", s.args.least); err != nil {
			return err
		}
	}
	if s.args.most != nil {
		if hi, err = distance(env, "maxDistance", s.args.most); err != nil {
			return err
		}
	}
	v, err := constant(env, s.args.near)
	if err != nil {
		return err
	}
	return s.setNear(v, lo, hi)
}

// distance evaluates a distance, a number that is not negative.
func distance(env *mql.Env, name string, e expr.Expr) (float64, error) {
	v, err := constant(env, e)
	if err != nil {
		return 0, err
	}
	if !v.IsNumber() {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "$geoNear parameter '%s' must be a number", name)
	}
	f, _ := v.AsFloat()
	if !(f >= 0) {
		return 0, mongoerr.New(mongoerr.BadValue, "%s must be nonnegative", name)
	}
	return f, nil
}

// constant returns the value of an expression that reads no field.
func constant(env *mql.Env, e expr.Expr) (bson.Value, error) {
	var s expr.Scratch
	defer s.Close()
	v, err := e.Eval(env, bson.Empty, &s)
	return v.Clone(), err
}

// setNear sets near from a point v, a GeoJSON point or a pair of coordinates, and the minimum and maximum distance.
func (s *geoNearStage) setNear(v bson.Value, lo, hi float64) (err error) {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return mongoerr.New(5860401, "$geoNear requires near argument to be an object or array")
	}
	doc, isDoc := v.Doc()
	t := doc.Get("type")
	s.geoJSON = isDoc && t.Type == bson.TypeString
	if c := doc.Get("coordinates"); isDoc && !s.geoJSON && c.Type == bson.TypeArray {
		if v = c; s.spherical { // a point without a type; otherwise a pair
			b := bson.NewBuilder(nil)
			b.String("type", "Point")
			b.Value("coordinates", c)
			v, s.geoJSON = b.Doc().Value(), true
		}
	}
	if !s.geoJSON {
		if n := bson.Raw(v.Data).Len(); n < 2 || n > 3 {
			return mongoerr.New(mongoerr.BadValue, "$geoNear requires a near point of two coordinates")
		}
	}
	b := bson.NewBuilder(nil)
	name := "$near"
	if s.spherical || s.geoJSON {
		name = "$nearSphere"
	}
	if s.geoJSON {
		b.BeginDoc(name)
		b.Value("$geometry", v)
		b.End()
	} else {
		b.Value(name, v)
	}
	if s.near, err = geo.ParseNear(b.Doc()); err != nil {
		return err
	}
	s.near.Min, s.near.Max = lo, min(s.near.Max, hi)
	return nil
}

// WithNear returns a copy of the pipeline in which the arguments of a leading $geoNear are evaluated with the variables of
// env. A pipeline that needs no evaluation is returned as it is.
//
// Errors: those of wrong values, as when a $geoNear with constants is parsed.
func (p *Pipeline) WithNear(env *mql.Env) (*Pipeline, error) {
	if len(p.stages) == 0 {
		return p, nil
	}
	s, ok := p.stages[0].(*geoNearStage)
	if !ok || s.near != nil {
		return p, nil
	}
	with := *s
	if err := with.evaluate(env); err != nil {
		return nil, err
	}
	return p.with(splice(p.stages, 0, 1, &with)), nil
}

// GeoNear describes the leading $geoNear of a pipeline, for the caller that chooses the geospatial index.
type GeoNear struct {
	// Key is the field given in the stage; "" means the field of the only geospatial index.
	Key string
	// Spherical reports that a 2dsphere index is required. GeoJSON reports that a 2d index cannot be
	// used.
	Spherical, GeoJSON bool
	Near               *geo.Near
	// Query is the filter of the documents; nil = none.
	Query match.Node
}

// GeoNear returns the description of a leading $geoNear with evaluated arguments (see WithNear).
func (p *Pipeline) GeoNear() (GeoNear, bool) {
	if len(p.stages) == 0 {
		return GeoNear{}, false
	}
	s, ok := p.stages[0].(*geoNearStage)
	if !ok || s.near == nil {
		return GeoNear{}, false
	}
	return GeoNear{s.key, s.spherical, s.geoJSON, s.near, s.query}, true
}

// WithGeoKey returns a copy of the pipeline with key as the field of its leading $geoNear, after the caller has found
// the index. A pipeline that begins with another stage is returned as it is.
func (p *Pipeline) WithGeoKey(key string) *Pipeline {
	s, ok := p.stages[0].(*geoNearStage)
	if !ok {
		return p
	}
	with := *s
	with.key = key
	return p.with(splice(p.stages, 0, 1, &with))
}

// addsNothing reports whether a $geoNear with this argument leaves the documents unchanged: it has neither
// distanceField nor includeLocs.
func addsNothing(arg bson.Value) bool {
	d, _ := arg.Doc()
	return d.Get("distanceField").IsMissing() && d.Get("includeLocs").IsMissing()
}

// nearFirst rejects a $geoNear behind any stage that changes its input.
// Errors: 40603.
func nearFirst(_ Stage, before []Stage) error {
	for _, s := range before {
		if !isNothing(s) {
			return mongoerr.New(40603, "$geoNear was not the first stage in the pipeline")
		}
	}
	return nil
}

func (s *geoNearStage) Name() string             { return "$geoNear" }
func (s *geoNearStage) Constraints() Constraints { return stageGeoNear.Constraints }
func (s *geoNearStage) Split() Split {
	return Split{Shards: []Stage{s}, Order: &distanceOrder}
}

// distanceOrder is the order of the rows of a $geoNear: by distance, which each row has as its sort key.
var distanceOrder = order.Pattern{Parts: []order.Part{{Name: "$distance", Dir: 1, Meta: "geoNearDistance"}}}

func (s *geoNearStage) Append(b *bson.Builder) { b.Raw("$geoNear", s.arg) }

func (s *geoNearStage) Reads(add func(string)) bool {
	if s.key == "" {
		add("")
	}
	add(s.key)
	if s.query != nil {
		filterPaths(s.query, add)
	}
	return false
}

func (s *geoNearStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	if s.key == "" {
		return nil, mongoerr.New(mongoerr.IndexNotFound, "$geoNear requires a 2d or 2dsphere index, but none were found")
	}
	op := &geoNearOp{base: base{in: in, stage: s}, geoNearStage: s, rows: rowSorter{what: "$geoNear"}, at: path.Must(s.key)}
	if s.query != nil {
		op.filter = match.Normalize(s.query)
	}
	return op, nil
}

type geoNearOp struct {
	base
	maker
	*geoNearStage
	rows   rowSorter
	at     path.Path
	filter match.Node
	loaded bool
	out    [2][]byte
}

func (o *geoNearOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	key, pair, _, err := o.rows.next()
	if pair == nil || err != nil {
		return nil, err
	}
	o.returned++
	it := pair.Iter()
	it.Next()
	o.row = exec.Row{SortKey: key, Doc: bson.Raw(it.Value.Data)}
	it.Next()
	o.row.Meta = bson.Raw(it.Value.Data)
	return &o.row, nil
}

// Park releases nothing: the input was read to its end before the first row.
func (*geoNearOp) Park() (int, bool) { return 0, true }

// load reads the whole input, keeps the documents that match the query and have a geometry within the given distances,
// and sorts them by distance.
func (o *geoNearOp) load(env *mql.Env) error {
	var key []byte
	err := exec.Drain(env, o.in, func(r *exec.Row) error {
		o.scratch.Reset()
		if o.filter != nil {
			ok, err := o.filter.Matches(env, r.Doc, &o.scratch)
			if !ok || err != nil {
				return err
			}
		}
		d, loc, ok := o.nearest(r.Doc)
		if !ok {
			return nil
		}
		key = keystring.Append(key[:0], o.scratch.Double(d), keystring.Ascending, nil, nil)
		b := o.begin()
		b.Raw("doc", o.measured(r.Doc, d*o.multiplier, loc))
		b.BeginDoc("meta")
		b.Double("geoNearDistance", d*o.multiplier)
		b.Value("geoNearPoint", loc)
		b.End()
		o.buf = b.Finish()
		return o.rows.add(env, key, bson.Raw(o.buf), nil)
	})
	if err != nil {
		return err
	}
	return o.rows.finish(env)
}

// nearest returns the smallest distance of the document's geometries from the point of $geoNear, and the
// geometry that has it; ok is false if none lies within the distances given.
func (o *geoNearOp) nearest(doc bson.Raw) (d float64, loc bson.Value, ok bool) {
	o.at.Walk(doc, path.TraverseLeaf, func(v bson.Value, _ []int32) bool {
		if g, isGeo := geo.Stored(v); isGeo {
			if x, within := o.near.Distance(g); within && (!ok || x < d) {
				d, loc, ok = x, v, true
			}
		}
		return true
	})
	return d, loc, ok
}

// measured returns the document with its distance and the geometry found added in the fields that $geoNear
// names.
func (o *geoNearOp) measured(doc bson.Raw, d float64, loc bson.Value) bson.Raw {
	if o.distance != nil {
		b := bson.NewBuilder(o.out[0][:0])
		appendWith(b, doc, o.distance, o.scratch.Double(d))
		o.out[0] = b.Finish()
		doc = bson.Raw(o.out[0])
	}
	if o.locs != nil {
		b := bson.NewBuilder(o.out[1][:0])
		appendWith(b, doc, o.locs, loc)
		o.out[1] = b.Finish()
		doc = bson.Raw(o.out[1])
	}
	return doc
}

func (o *geoNearOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.rows.close()
	o.loaded = true
}

func (o *geoNearOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
