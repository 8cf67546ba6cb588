package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
)

var stageMerge = reading(StageDef{Name: "$merge", Names: []string{"", "into"},
	Constraints: Constraints{Last: true, Writes: true, Blocking: true, NotIn: placesOfWrites},
	Privileges: []Privilege{{Action: "update", If: where((*mergeArgs).updates), Case: "unless whenMatched is keepExisting or fail"},
		{Action: "insert", If: where((*mergeArgs).inserts), Case: "unless whenNotMatched is discard or fail"}},
	Doc: "reference/operator/aggregation/merge", Since: "4.2"}, readMerge, parseMerge)

// mergeStage merges the documents into a collection.
type mergeStage struct {
	spec SinkSpec
	arg  bson.Raw // as given, for printing
	on   []path.Path
}

// mergeArgs are the arguments of $merge.
type mergeArgs struct {
	spec  SinkSpec   // an empty DB in its NS means that of the pipeline
	let   bson.Value // for the pipeline of whenMatched
	steps []bson.Raw // stages of that pipeline
	arg   bson.Raw   // as given, for printing
}

func (a *mergeArgs) mentioned() Mentioned { return Mentioned{NS: a.spec.NS} }

// updates reports whether matching documents may be changed.
func (a *mergeArgs) updates(collection.User) bool {
	return a.spec.WhenMatched != MatchKeep && a.spec.WhenMatched != MatchFail
}

// inserts reports whether documents may be inserted.
func (a *mergeArgs) inserts(collection.User) bool { return a.spec.WhenMissing == MissInsert }

func readMerge(arg bson.Value) (*mergeArgs, error) {
	a := &mergeArgs{}
	switch arg.Type {
	case bson.TypeString:
		b := bson.NewBuilder(nil)
		b.Value("into", arg)
		a.arg = b.Doc()
	case bson.TypeDocument:
		a.arg = bson.Raw(arg.Data)
	default:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$merge requires a string or object argument, but found %s", arg.Type)
	}
	var into, on, matched, missing bson.Value
	for it := a.arg.Iter(); it.Next(); {
		if n := string(it.Name); it.Value.Type == bson.TypeNull && (n == "let" || n == "whenNotMatched") {
			continue // treated as absent
		}
		switch string(it.Name) {
		case "into":
			into = it.Value
		case "on":
			on = it.Value
		case "let":
			a.let = it.Value
		case "whenMatched":
			matched = it.Value
		case "whenNotMatched":
			missing = it.Value
		case "targetCollectionVersion", "allowMergeOnNullishValues":
		default:
			return nil, mongoerr.New(40415, "BSON field '$merge.%s' is an unknown field.", it.Name)
		}
	}
	if into.IsMissing() {
		return nil, mongoerr.New(40414, "BSON field '$merge.into' is missing but a required field")
	}
	var err error
	if a.spec.NS, err = mergeTarget(into); err != nil {
		return nil, err
	}
	if a.spec.On, err = mergeOn(on); err != nil {
		return nil, err
	}
	if err := a.matchMode(matched); err != nil {
		return nil, err
	}
	return a, a.missMode(missing)
}

func parseMerge(p *parser, a *mergeArgs) ([]Stage, error) {
	s := &mergeStage{spec: a.spec, arg: a.arg}
	if s.spec.NS.DB == "" {
		s.spec.NS.DB = p.ns.DB
	}
	for _, name := range s.spec.On {
		s.on = append(s.on, path.Must(name))
	}
	if err := checkTarget(s.spec.NS, 31319, 31320, "$merge"); err != nil {
		return nil, err
	}
	if s.spec.WhenMatched == MatchKeep && s.spec.WhenMissing != MissInsert || s.spec.WhenMatched == MatchFail && s.spec.WhenMissing != MissInsert {
		return nil, mongoerr.New(51181, "Combination of {whenMatched: %s} and {whenNotMatched: %s} is not supported",
			matchModes[s.spec.WhenMatched], missModes[s.spec.WhenMissing])
	}
	return []Stage{s}, s.pipeline(p, a.let, a.steps)
}

// mergeTarget parses the field into of $merge. If it names no database, DB stays empty.
func mergeTarget(v bson.Value) (ns collection.Namespace, err error) {
	switch v.Type {
	case bson.TypeString:
		if ns.Coll, _ = v.Str(); ns.Coll == "" {
			return ns, mongoerr.New(mongoerr.InvalidNamespace, "$merge 'into' field cannot be an empty string")
		}
		return ns, nil
	case bson.TypeDocument:
	default:
		return ns, mongoerr.New(51178, "$merge 'into' field must be either a string or an object, but found %s", v.Type)
	}
	if name, twice := bson.Raw(v.Data).Repeated(); twice {
		return ns, mongoerr.RepeatedField("into." + string(name))
	}
	for it := bson.Raw(v.Data).Iter(); it.Next(); {
		text, ok := it.Value.Str()
		name := string(it.Name)
		switch {
		case name != "db" && name != "coll":
			return ns, mongoerr.New(40415, "BSON field 'into.%s' is an unknown field.", name)
		case it.Value.Type == bson.TypeNull:
		case !ok || it.Value.Type != bson.TypeString:
			return ns, mongoerr.WrongType("into."+name, it.Value.Type.String(), "string")
		case name == "db":
			ns.DB = text
		default:
			ns.Coll = text
		}
	}
	if ns.Coll == "" {
		return ns, mongoerr.New(5786801, "$merge 'into' field must specify a 'coll' that is not empty, null or undefined")
	}
	return ns, nil
}

// mergeOn reads on.
func mergeOn(v bson.Value) ([]string, error) {
	switch v.Type {
	case bson.TypeMissing:
		return nil, nil
	case bson.TypeString:
		name, _ := v.Str()
		_, err := checkField(name)
		return []string{name}, err
	case bson.TypeArray:
	default:
		return nil, mongoerr.New(51186, "$merge 'on' field  must be either a string or an array of strings, but found %s", v.Type)
	}
	var on []string
	for it := bson.Raw(v.Data).Iter(); it.Next(); {
		name, ok := it.Value.Str()
		if !ok || it.Value.Type != bson.TypeString {
			return nil, mongoerr.New(51134, "$merge 'on' array elements must be strings, but found %s", it.Value.Type)
		}
		for _, other := range on {
			if other == name {
				return nil, mongoerr.New(31465, "Found a duplicate field '%s'", name)
			}
		}
		if _, err := checkField(name); err != nil {
			return nil, err
		}
		on = append(on, name)
	}
	if on == nil {
		return nil, mongoerr.New(51187, "If explicitly specifying $merge 'on', must include at least one field")
	}
	return on, nil
}

// matchModes and missModes are the words for whenMatched and whenNotMatched in $merge, indexed by MatchMode and
// InsertMode.
var (
	matchModes = [...]string{"merge", "replace", "keepExisting", "fail", "pipeline"}
	missModes  = [...]string{"insert", "discard", "fail"}
)

// matchMode reads whenMatched.
func (a *mergeArgs) matchMode(v bson.Value) error {
	switch v.Type {
	case bson.TypeMissing:
		return nil
	case bson.TypeArray:
		a.spec.WhenMatched = MatchPipeline
		steps, ok := pipelineDocs(v)
		if !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
		a.steps = steps
		return nil
	case bson.TypeString:
		name, _ := v.Str()
		for i, m := range matchModes[:MatchPipeline] {
			if m == name {
				a.spec.WhenMatched = MatchMode(i)
				return nil
			}
		}
		return mongoerr.BadEnum("whenMatched", name)
	}
	return mongoerr.New(51191, "$merge 'whenMatched' field  must be either a string or an array, but found %s", v.Type)
}

// missMode reads whenNotMatched.
func (a *mergeArgs) missMode(v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	name, ok := v.Str()
	if !ok || v.Type != bson.TypeString {
		return mongoerr.WrongType("$merge.whenNotMatched", v.Type.String(), "string")
	}
	for i, m := range missModes {
		if m == name {
			a.spec.WhenMissing = InsertMode(i)
			return nil
		}
	}
	return mongoerr.BadEnum("$merge.whenNotMatched", name)
}

// pipeline parses let and the pipeline of whenMatched into the stage.
func (s *mergeStage) pipeline(p *parser, let bson.Value, steps []bson.Raw) error {
	if let.IsMissing() {
		b := bson.NewBuilder(nil)
		b.String("new", "$$ROOT")
		let = b.Doc().Value()
	} else if s.spec.WhenMatched != MatchPipeline {
		if let.Type != bson.TypeDocument {
			return mongoerr.WrongType("$merge.let", let.Type.String(), "object")
		}
		return mongoerr.New(51199, "Cannot use 'let' variables with 'whenMatched: %s' mode", matchModes[s.spec.WhenMatched])
	}
	d, ok := let.Doc()
	if !ok {
		return mongoerr.WrongType("$merge.let", let.Type.String(), "object")
	}
	if v, ok := d.Lookup("new"); ok {
		if text, _ := v.Str(); text != "$$ROOT" {
			return mongoerr.New(51273, "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'")
		}
	}
	var err error
	if s.spec.let, err = p.letVars(d, true); err != nil {
		return err
	}
	s.spec.steps, s.spec.stepsErr = p.updateSteps(declare(p.env, s.spec.let), steps)
	return nil
}

// updateSteps reads the pipeline of whenMatched.
func (p *parser) updateSteps(env *mql.Env, steps []bson.Raw) ([]project.Transform, error) {
	q := parser{env: env, ns: p.ns, in: p.in | InUpdate, depth: p.depth + 1, tables: p.tables}
	var out []project.Transform
	for _, raw := range steps {
		stages, err := q.stage(raw)
		if err != nil {
			return nil, err
		}
		for _, s := range stages {
			t, ok := s.(*transformStage)
			if !ok {
				return nil, mongoerr.New(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", s.Name())
			}
			out = append(out, t.t)
		}
	}
	return out, nil
}

// letVars parses the variables of a `let`. Their expressions see the current document. With reserved, as for
// $merge, the variable new is added if it is not given.
func (p *parser) letVars(d bson.Raw, reserved bool) ([]letVar, error) {
	var out []letVar
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		if err := checkVariable(name); err != nil {
			return nil, err
		}
		e, err := expr.Parse(p.env, it.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, letVar{name, e})
	}
	if _, ok := d.Lookup("new"); !ok && reserved {
		b := bson.NewBuilder(nil)
		b.String("v", "$$ROOT")
		e, err := expr.Parse(p.env, b.Doc().Get("v"))
		if err != nil {
			return nil, err
		}
		out = append(out, letVar{"new", e})
	}
	return out, nil
}

// checkVariable validates the name of a variable that a user defines.
func checkVariable(name string) error {
	if name == "" {
		return mongoerr.New(mongoerr.FailedToParse, "empty variable names are not allowed")
	}
	if name == "CURRENT" {
		return nil
	}
	if c := name[0]; !(c >= 'a' && c <= 'z' || c >= 0x80) {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' starts with an invalid character for a user variable name", name)
	}
	for _, c := range []byte(name) {
		if c < 0x80 && c != '_' && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return mongoerr.New(mongoerr.FailedToParse, "'%s' contains an invalid character for a variable name: '%c'", name, c)
		}
	}
	return nil
}

func (s *mergeStage) Name() string             { return "$merge" }
func (s *mergeStage) Constraints() Constraints { return stageMerge.Constraints }
func (s *mergeStage) Split() Split             { return merged(s) }
func (s *mergeStage) Reads(func(string)) bool  { return false }
func (s *mergeStage) Append(b *bson.Builder)   { b.Raw("$merge", s.arg) }

func (s *mergeStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	return &sinkOp{base: base{in: in, stage: s}, spec: &s.spec, on: s.on, open: func(env *mql.Env) (Sink, error) {
		return o.Sink(env, s.spec.NS, &s.spec)
	}}, nil
}
