package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageLookup = reading(StageDef{Name: "$lookup", Names: []string{"from", "localField", "foreignField", "as"},
	Constraints: Constraints{NotIn: InUpdate, OneToOne: true, KeepsOrder: true}, ShapesPlan: true, Privileges: readsTarget,
	Doc: "reference/operator/aggregation/lookup"}, readLookup, parseLookup)

// lookupStage is $lookup: it joins documents of another collection. They are those with equal values at two
// paths (foreign.Len() > 0), those that a pipeline delivers (sub), or those that a pipeline makes of the equal
// ones.
type lookupStage struct {
	ns             collection.Namespace
	as             fieldName
	local, foreign path.Path
	let            []letVar
	sub            *Pipeline // nil = the documents unchanged
	arg            bson.Raw  // as given, for printing

	// unwind is a following $unwind of the field as that the optimiser merged. joined is the condition of a
	// following $match on the joined documents; nil = none.
	unwind *unwindStage
	joined match.Node
}

// lookupFailed returns an error with the code of most mistakes in $lookup.
func lookupFailed(format string, args ...any) error {
	return mongoerr.New(mongoerr.FailedToParse, format, args...)
}

// lookupArgs are the arguments of $lookup as they were given.
type lookupArgs struct {
	as, local, foreign          string
	hasAs, hasLocal, hasForeign bool
	from                        collection.Namespace // an empty DB means that of the pipeline
	hasFrom, named              bool                 // named reports that from is only the name of a collection
	let                         bson.Raw
	pipeline                    []bson.Raw
	hasPipeline                 bool
	arg                         bson.Raw
}

func (a *lookupArgs) mentioned() Mentioned {
	return Mentioned{NS: a.from, Subs: [][]bson.Raw{a.pipeline}}
}

func readLookup(arg bson.Value) (*lookupArgs, error) {
	d, err := documentArg(arg, mongoerr.FailedToParse, "the $lookup stage specification must be an object, but found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	a := &lookupArgs{arg: d}
	for it := d.Iter(); it.Next(); {
		if err := a.read(string(it.Name), it.Value); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// parseLookup makes the stage of validated arguments: a $lookup of a collection, or of a pipeline over it.
func parseLookup(p *parser, a *lookupArgs) ([]Stage, error) {
	if a.from.DB == "" {
		a.from.DB = p.ns.DB
	}
	err := a.check(p.ns.DB)
	if err != nil {
		return nil, err
	}
	s := &lookupStage{arg: a.arg, ns: a.from}
	if s.as, err = checkField(a.as); err != nil {
		return nil, err
	}
	if a.hasLocal {
		if s.local, err = order.CheckedPath(a.local); err != nil {
			return nil, err
		}
		if s.foreign, err = order.CheckedPath(a.foreign); err != nil {
			return nil, err
		}
	}
	if s.let, err = p.letVars(a.let, false); err != nil {
		return nil, err
	}
	if a.hasPipeline || len(a.let) > 0 {
		if err := p.env.Cosmos.CheckRule(cosmos.LookupPipelines); err != nil {
			return nil, err
		}
	}
	if a.hasPipeline {
		if s.sub, err = p.sub(declare(p.env, s.let), s.ns, InLookup, a.pipeline); err != nil {
			return nil, err
		}
	}
	if !a.hasFrom && (s.sub == nil || !startsWithDocuments(s.sub)) {
		return nil, lookupFailed("must specify 'from' field for a $lookup")
	}
	return []Stage{s}, nil
}

// read reads one argument.
func (a *lookupArgs) read(name string, v bson.Value) (err error) {
	switch name {
	case "pipeline":
		a.hasPipeline = true
		a.pipeline, err = pipelineArg(v)
		return err
	case "let":
		if v.Type == bson.TypeNull {
			return nil
		}
		var ok bool
		if a.let, ok = v.Doc(); !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "$lookup argument 'let' must be an object, is type %s", v.Type)
		}
		return nil
	case "from":
		a.hasFrom = true
		if f, ok := v.Doc(); ok {
			a.named = false
			a.from, err = lookupFrom(f)
			return err
		}
		a.named, a.from.DB = true, ""
		if v.Type != bson.TypeString {
			return lookupFailed("$lookup argument 'from' must be a string or an object, is type %s", v.Type)
		}
		a.from.Coll, _ = v.Str()
		return nil
	case "as":
		a.hasAs = true
		a.as, err = lookupText(name, v)
		return err
	case "localField":
		if v.Type == bson.TypeNull {
			return nil
		}
		a.hasLocal = true
		a.local, err = lookupText(name, v)
		return err
	case "foreignField":
		if v.Type == bson.TypeNull {
			return nil
		}
		a.hasForeign = true
		a.foreign, err = lookupText(name, v)
		return err
	}
	return lookupFailed("unknown argument to $lookup: %s", name)
}

// lookupText returns an argument that must be a string.
func lookupText(name string, v bson.Value) (string, error) {
	if v.Type != bson.TypeString {
		return "", mongoerr.WrongType("$lookup."+name, v.Type.String(), "string")
	}
	text, _ := v.Str()
	return text, nil
}

// check validates the combination of a $lookup's arguments, in a pipeline on database db.
func (a *lookupArgs) check(db string) error {
	if a.named && badCollection(a.from.Coll) {
		return mongoerr.BadNamespace(a.from.String())
	}
	if ns := a.from; a.hasFrom && !a.named && (ns.Coll == "" || ns.DB != db && ns.DB != "config" && ns.DB != "local") {
		return lookupFailed("$lookup with syntax {from: {db:<>, coll:<>},..} is not supported for db: %s and coll: %s", ns.DB, ns.Coll)
	}
	if a.hasPipeline && a.local == "" && a.foreign == "" {
		a.hasLocal, a.hasForeign = false, false // no join without paths
	}
	switch {
	case !a.hasAs:
		return mongoerr.MissingField("$lookup.as")
	case a.hasLocal != a.hasForeign:
		return lookupFailed("$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case !a.hasPipeline && !a.hasLocal:
		return lookupFailed("$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case !a.hasPipeline && a.let != nil:
		return lookupFailed("$lookup with a 'let' argument must also specify 'pipeline'")
	}
	return nil
}

// badCollection reports whether a name cannot be the name of a collection.
func badCollection(name string) bool {
	return name == "" || name[0] == '.' || strings.IndexByte(name, 0) >= 0
}

// lookupFrom parses {from: {db, coll}} of $lookup. check then accepts the pipeline's own database, config and
// local.
func lookupFrom(f bson.Raw) (ns collection.Namespace, err error) {
	if name, twice := f.Repeated(); twice {
		return ns, mongoerr.RepeatedField("$lookup.from." + string(name))
	}
	for it := f.Iter(); it.Next(); {
		text, ok := it.Value.Str()
		switch name := string(it.Name); {
		case name != "db" && name != "coll":
			return ns, mongoerr.New(40415, "BSON field '$lookup.from.%s' is an unknown field.", name)
		case !ok || it.Value.Type != bson.TypeString:
			return ns, mongoerr.WrongType("$lookup.from."+name, it.Value.Type.String(), "string")
		case name == "db":
			ns.DB = text
		default:
			ns.Coll = text
		}
	}
	return ns, nil
}

func (s *lookupStage) Name() string { return "$lookup" }
func (s *lookupStage) Constraints() Constraints {
	c := stageLookup.Constraints
	c.OneToOne = s.unwind == nil
	return c
}
func (s *lookupStage) Split() Split           { return everywhere(s) }
func (s *lookupStage) Append(b *bson.Builder) { b.Raw("$lookup", s.arg) }

// unfold returns the stages without the merges of the optimiser.
func (s *lookupStage) unfold() []Stage {
	plain := *s
	plain.unwind, plain.joined = nil, nil
	out := []Stage{&plain}
	if s.unwind != nil {
		out = append(out, s.unwind)
	}
	if s.joined != nil {
		as := path.Must(s.as.String())
		back, _ := match.Moved(s.joined, func(p path.Path) (path.Path, bool) { return path.Must(as.String() + "." + p.String()), true })
		out = append(out, &matchStage{node: back})
	}
	return out
}

func (s *lookupStage) appendExplain(b *bson.Builder) {
	b.BeginDoc("$lookup")
	b.Splice(s.arg.Elements())
	if s.unwind != nil {
		b.BeginDoc("unwinding")
		b.Bool("preserveNullAndEmptyArrays", s.unwind.preserve)
		if s.unwind.index != nil {
			b.String("includeArrayIndex", s.unwind.index.String())
		}
		b.End()
	}
	if s.joined != nil {
		b.BeginDoc("matching")
		s.joined.Append(b)
		b.End()
	}
	b.End()
}

// filtered returns the sub-pipeline of the $lookup with the condition joined at its end. It returns nil if
// there is no sub-pipeline; openEqual adds the condition then.
func (s *lookupStage) filtered() *Pipeline {
	if s.sub == nil || s.joined == nil {
		return s.sub
	}
	return s.sub.with(append(append([]Stage(nil), s.sub.stages...), &matchStage{node: s.joined}))
}

func (s *lookupStage) Reads(add func(string)) bool {
	if s.local.Len() > 0 {
		add(s.local.String())
	}
	for _, v := range s.let {
		v.e.Paths(add)
	}
	if len(s.as) > 1 {
		add(s.as[0])
	}
	if s.unwind != nil && s.unwind.index != nil {
		add(s.unwind.index[0])
	}
	return false
}

func (s *lookupStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	op := &lookupOp{base: base{in: in, stage: s}, lookupStage: s, sub: s.filtered(), opener: o}
	op.examined.on = o.Explains()
	switch {
	case s.foreign.Len() > 0:
		op.division = divide(op.sub, s.ns.Coll)
	case len(s.let) == 0:
		op.cache = &spool{what: "$lookup"}
	default:
		d := divide(op.sub, s.ns.Coll)
		if op.equal = equalIn(s.let, d.conditions); op.equal != nil {
			joining := *s
			joining.foreign = op.equal.foreign
			op.lookupStage, op.division = &joining, d
		}
	}
	return op, nil
}
