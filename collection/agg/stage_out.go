package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageOut = reading(StageDef{Name: "$out", Names: []string{"", "db", "coll"},
	Constraints: Constraints{Last: true, Writes: true, Blocking: true, NotIn: placesOfWrites}, Privileges: []Privilege{{Action: "insert"}, {Action: "remove"}},
	Doc: "reference/operator/aggregation/out"}, readOut, parseOut)

// namespaceBytesMax is the maximal length of a namespace.
// Manual: reference/limits#mongodb-limit-Namespace-Length.
const namespaceBytesMax = 255

// outStage is $out: it replaces a collection by the pipeline's documents.
type outStage struct{ spec SinkSpec }

// outArgs are the arguments of $out.
type outArgs struct {
	ns     collection.Namespace // an empty DB means that of the pipeline
	series bson.Raw             // timeseries; nil for an ordinary collection
}

func (a *outArgs) mentioned() Mentioned { return Mentioned{NS: a.ns} }

func readOut(arg bson.Value) (*outArgs, error) {
	a := &outArgs{}
	switch arg.Type {
	case bson.TypeString:
		a.ns.Coll, _ = arg.Str()
	case bson.TypeDocument:
		var db, coll bool
		for it := bson.Raw(arg.Data).Iter(); it.Next(); {
			v, name := it.Value, string(it.Name)
			switch name {
			case "db", "coll":
				if v.Type == bson.TypeNull {
					continue
				}
				text, ok := v.Str()
				if !ok || v.Type != bson.TypeString {
					return nil, mongoerr.WrongType("$out."+name, v.Type.String(), "string")
				}
				if name == "db" {
					a.ns.DB, db = text, true
				} else {
					a.ns.Coll, coll = text, true
				}
			case "timeseries":
				if v.Type == bson.TypeNull {
					continue
				}
				d, ok := v.Doc()
				if !ok {
					return nil, mongoerr.WrongType("$out.timeseries", v.Type.String(), "object")
				}
				var err error
				if a.series, err = parseTimeSeries(d); err != nil {
					return nil, err
				}
			default:
				return nil, mongoerr.New(40415, "BSON field '$out.%s' is an unknown field.", name)
			}
		}
		if !coll {
			return nil, mongoerr.New(40414, "BSON field '$out.coll' is missing but a required field")
		}
		if !db {
			return nil, mongoerr.New(40414, "BSON field '$out.db' is missing but a required field")
		}
		if a.ns.DB == "" {
			return nil, checkTarget(a.ns, 17385, 31321, "$out")
		}
	default:
		return nil, mongoerr.New(16990, "$out only supports a string or object argument, but found %s", arg.Type)
	}
	return a, nil
}

func parseOut(p *parser, a *outArgs) ([]Stage, error) {
	ns := a.ns
	if ns.DB == "" {
		ns.DB = p.ns.DB
	}
	if err := checkTarget(ns, 17385, 31321, "$out"); err != nil {
		return nil, err
	}
	if len(ns.String()) > namespaceBytesMax {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "The namespace of $out, %s, is longer than %d bytes", ns, namespaceBytesMax)
	}
	return []Stage{&outStage{SinkSpec{Out: true, NS: ns, TimeSeries: a.series}}}, nil
}

// checkTarget returns an error if a $out or $merge may not write to the namespace.
func checkTarget(ns collection.Namespace, special, internal mongoerr.Code, stage string) error {
	switch {
	case ns.DB != "" && strings.HasPrefix(ns.Coll, "$"):
		return mongoerr.New(mongoerr.IllegalOperation, "Invalid %s target namespace, %s", stage, ns)
	case ns.DB == "" || ns.Coll == "" || strings.ContainsAny(ns.DB, " .$/\\\"\x00") || strings.ContainsAny(ns.Coll, "$\x00") ||
		ns.Coll[0] == '.' || ns.Coll[len(ns.Coll)-1] == '.':
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid %s target namespace, %s", stage, ns)
	case strings.HasPrefix(ns.Coll, "system."):
		return mongoerr.New(special, "Cannot %s to special collection: %s", stage, ns.Coll)
	case collection.IsInternal(ns.DB):
		return mongoerr.New(internal, "Cannot %s to internal database: %s", stage, ns.DB)
	}
	return nil
}

// placesOfWrites are the places where writing stages are not allowed.
const placesOfWrites = InFacet | InLookup | InUnion | InView | InTransaction | InUpdate

func (s *outStage) Name() string             { return "$out" }
func (s *outStage) Constraints() Constraints { return stageOut.Constraints }
func (s *outStage) Split() Split             { return merged(s) }
func (s *outStage) Reads(func(string)) bool  { return false }

func (s *outStage) Append(b *bson.Builder) {
	b.BeginDoc("$out")
	b.String("coll", s.spec.NS.Coll)
	b.String("db", s.spec.NS.DB)
	if s.spec.TimeSeries != nil {
		b.Raw("timeseries", s.spec.TimeSeries)
	}
	b.End()
}

func (s *outStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	return &sinkOp{base: base{in: in, stage: s}, spec: &s.spec, open: func(env *mql.Env) (Sink, error) {
		return o.Sink(env, s.spec.NS, &s.spec)
	}}, nil
}
