package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageLookup = StageDef{Name: "$lookup", Parse: parseLookup, Skim: skimLookup,
	Constraints: Constraints{NotIn: InUpdate, OneToOne: true, KeepsOrder: true}, ShapesPlan: true, Privileges: readsTarget,
	Doc: "reference/operator/aggregation/lookup"}

// lookupStage joins the documents of another collection: those with equal
// values at two paths (foreign.Len() > 0), those that a pipeline delivers (sub),
// or those that a pipeline makes of the equal ones.
type lookupStage struct {
	ns             collection.Namespace
	as             fieldName
	local, foreign path.Path
	let            []letVar
	sub            *Pipeline // nil = the documents as they are
	arg            bson.Raw  // as given, for printing

	// unwind is a $unwind of as that the optimiser put in, and joined what a
	// $match behind it asked of the joined documents; nil asks nothing.
	unwind *unwindStage
	joined match.Node
}

func lookupFailed(format string, args ...any) error {
	return mongoerr.New(mongoerr.FailedToParse, format, args...)
}

func parseLookup(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := wantDoc(arg, mongoerr.FailedToParse, "the $lookup stage specification must be an object, but found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	s := &lookupStage{arg: d, ns: collection.Namespace{DB: p.ns.DB}}
	var text [4]string // as, local, foreign, from
	var has [4]bool
	var stages []bson.Raw
	var let bson.Raw
	pipeline, from := false, false
	for it := d.Iter(); it.Next(); {
		v, name := it.Value, string(it.Name)
		at := 0
		switch name {
		case "pipeline":
			if stages, err = wantPipeline(v); err != nil {
				return nil, err
			}
			pipeline = true
			continue
		case "let":
			if v.Type == bson.TypeNull {
				continue
			}
			var ok bool
			if let, ok = v.Doc(); !ok {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$lookup argument 'let' must be an object, is type %s", v.Type)
			}
			continue
		case "from":
			if f, ok := v.Doc(); ok {
				if s.ns, err = lookupFrom(p, f); err != nil {
					return nil, err
				}
				from = true
				continue
			}
			at = 3
		case "as":
		case "localField":
			if at = 1; v.Type == bson.TypeNull {
				continue
			}
		case "foreignField":
			if at = 2; v.Type == bson.TypeNull {
				continue
			}
		case "_internalCollation", "_internalUnwind":
			fallthrough
		default:
			return nil, lookupFailed("unknown argument to $lookup: %s", name)
		}
		if v.Type != bson.TypeString {
			return nil, lookupFailed("$lookup argument '%s' must be a string, is type %s", name, v.Type)
		}
		text[at], _ = v.Str()
		has[at] = true
	}
	if has[3] {
		s.ns.Coll, from = text[3], true
		if badCollection(s.ns.Coll) {
			return nil, mongoerr.BadNamespace(s.ns.String())
		}
	}
	if pipeline && text[1] == "" && text[2] == "" {
		has[1], has[2] = false, false // no join without paths
	}
	switch {
	case !has[0]:
		return nil, lookupFailed("must specify 'as' field for a $lookup")
	case has[1] != has[2]:
		return nil, lookupFailed("$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case !pipeline && !has[1]:
		return nil, lookupFailed("$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case !pipeline && let != nil:
		return nil, lookupFailed("$lookup with a 'let' argument must also specify 'pipeline'")
	}
	if s.as, err = wantField(text[0]); err != nil {
		return nil, err
	}
	if has[1] {
		if s.local, err = wantPath(text[1]); err != nil {
			return nil, err
		}
		if s.foreign, err = wantPath(text[2]); err != nil {
			return nil, err
		}
	}
	if s.let, err = p.letVars(let, false); err != nil {
		return nil, err
	}
	if pipeline {
		if s.sub, err = p.sub(declare(p.env, s.let), s.ns, InLookup, stages); err != nil {
			return nil, err
		}
	}
	if !from && (s.sub == nil || !startsWithDocuments(s.sub)) {
		return nil, lookupFailed("must specify 'from' field for a $lookup")
	}
	return []Stage{s}, nil
}

// wantPath compiles a checked path; the fields of a DBRef are admitted.
func wantPath(s string) (path.Path, error) {
	if _, err := wantField(dbRefFields.Replace(s + ".")[:len(s)]); err != nil {
		return path.Path{}, err
	}
	return path.Compile(s)
}

// dbRefFields puts names of the same length in place of $ref, $id and $db.
var dbRefFields = strings.NewReplacer("$ref.", "_ref.", "$id.", "_id.", "$db.", "_db.")

// badCollection says that a name can be no collection.
func badCollection(name string) bool {
	return name == "" || name[0] == '.' || strings.IndexByte(name, 0) >= 0
}

// lookupFrom reads from: {db, coll}, which names a collection of this database
// or one of the server's own.
func lookupFrom(p *parser, f bson.Raw) (collection.Namespace, error) {
	ns := collection.Namespace{DB: p.ns.DB}
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
	if ns.Coll == "" || ns.DB != p.ns.DB && ns.DB != "config" && ns.DB != "local" {
		return ns, lookupFailed("$lookup with syntax {from: {db:<>, coll:<>},..} is not supported for db: %s and coll: %s", ns.DB, ns.Coll)
	}
	return ns, nil
}

func skimLookup(arg bson.Value, add func(Involved) error) ([]bson.Value, error) {
	d, ok := arg.Doc()
	if !ok {
		return nil, nil
	}
	var i Involved
	if f, ok := d.Get("from").Doc(); ok {
		i.NS.DB, _ = f.Get("db").Str()
		i.NS.Coll, _ = f.Get("coll").Str()
	} else {
		i.NS.Coll, _ = d.Get("from").Str()
	}
	subs := []bson.Value{d.Get("pipeline")}
	if i.NS.Coll == "" {
		return subs, nil
	}
	return subs, add(i)
}

func (s *lookupStage) Name() string { return "$lookup" }
func (s *lookupStage) Constraints() Constraints {
	c := stageLookup.Constraints
	c.OneToOne = s.unwind == nil
	return c
}
func (s *lookupStage) Split() Split           { return everywhere(s) }
func (s *lookupStage) Append(b *bson.Builder) { b.Raw("$lookup", s.arg) }

// unfold is the stage without what the optimiser put in.
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
		out = append(out, &matchStage{back})
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

// filtered is the sub-pipeline with the filter of the joined documents; nil for
// none that changes them, whose filter openEqual adds.
func (s *lookupStage) filtered() *Pipeline {
	if s.sub == nil || s.joined == nil {
		return s.sub
	}
	return s.sub.with(append(append([]Stage(nil), s.sub.stages...), &matchStage{s.joined}))
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
	if s.foreign.Len() == 0 && len(s.let) == 0 {
		op.cache = &spool{what: "$lookup"}
	}
	return op, nil
}
