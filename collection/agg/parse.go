package agg

import (
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

const (
	// stagesMax is the maximal number of stages of a pipeline.
	// Manual: core/aggregation-pipeline-limits#number-of-stages-restrictions.
	stagesMax = 1000
	// depthMax is the maximal depth of nested pipelines.
	depthMax = 20
)

// Options describe the place of the pipeline for Parse.
type Options struct {
	// NS is the collection of the pipeline; Coll is empty for {aggregate: 1}.
	NS collection.Namespace
	// In is the kind of place, such as InView or InTransaction; 0 is an ordinary pipeline.
	In Surroundings
	// Depth is the number of enclosing pipelines. A view's pipeline is nested in the pipeline that reads
	// the view.
	Depth int
}

// Parse parses and checks a pipeline on the collection opts.NS. The pipeline may refer to the variables of
// env.Vars.
//
// Errors: 40323 for a stage that is no document of one field, 40324 for an unknown name, 7749501 for too many stages,
// MaxSubPipelineDepthExceeded, 40413 for a repeated field of a stage's argument, 40601, 40602 and other codes for a
// stage in the wrong place; errors of the stages' parsers.
func Parse(env *mql.Env, stages []bson.Raw, opts Options) (*Pipeline, error) {
	if opts.NS.DB == "" {
		opts.NS.DB = env.DB
	}
	p := parser{env: env, ns: opts.NS, in: opts.In, depth: opts.Depth, tables: allTables()}
	return p.pipeline(stages)
}

// parser holds the state of parsing one pipeline: its place, and the tables of names. A sub-pipeline has its
// own parser.
type parser struct {
	env *mql.Env
	ns  collection.Namespace
	in  Surroundings
	// place is the part of in that the innermost pipeline adds; its errors come first.
	place Surroundings
	depth int
	tables
	// window is set for the accumulators of $setWindowFields.
	window bool
}

// tables holds the tables of stages, accumulators and window functions, in which a parser looks up names, each
// in alphabetical order. They are copies of the global tables: direct references would be an initialisation
// cycle, because the tables' rows refer to parse functions.
type tables struct {
	stages       []StageDef
	accumulators []AccumulatorDef
	windows      []WindowFunctionDef
}

// allTables returns the tables of the server.
func allTables() tables { return tables{Stages, Accumulators, WindowFunctions} }

// pipeline parses and checks all stages.
func (p *parser) pipeline(stages []bson.Raw) (*Pipeline, error) {
	if len(stages) > stagesMax {
		return nil, mongoerr.New(7749501, "Pipeline length must be no longer than %d stages", stagesMax)
	}
	if p.depth > depthMax {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", depthMax)
	}
	out := &Pipeline{NS: p.ns}
	defer p.noting(&out.metas)()
	for _, raw := range stages {
		parsed, err := p.stage(raw)
		if err != nil {
			return nil, err
		}
		out.stages = append(out.stages, parsed...)
	}
	return out, p.check(out)
}

// stage parses one stage.
func (p *parser) stage(raw bson.Raw) ([]Stage, error) {
	f, ok := raw.First()
	if !ok || raw.Len() != 1 {
		return nil, notOneField()
	}
	def := p.find(string(f.Name))
	if def == nil {
		return nil, unknownStage(f.Name)
	}
	if err := def.refuseRepeated(f.Value); err != nil {
		return nil, err
	}
	if err := p.env.Cosmos.Check(cosmos.Stage, def.Name); err != nil {
		return nil, err
	}
	return def.Parse(p, def.Name, f.Value.Clone())
}

// find returns the row of a stage.
func (p *parser) find(name string) *StageDef { return findStage(p.stages, name) }

func findStage(table []StageDef, name string) *StageDef {
	i := sort.Search(len(table), func(i int) bool { return table[i].Name >= name })
	if i < len(table) && table[i].Name == name {
		return &table[i]
	}
	return nil
}

// sub parses a sub-pipeline on the collection ns. in is added to the kinds of place of the enclosing pipeline.
func (p *parser) sub(env *mql.Env, ns collection.Namespace, in Surroundings, stages []bson.Raw) (*Pipeline, error) {
	q := parser{env: env, ns: ns, in: p.in | in, place: in, depth: p.depth + 1, tables: p.tables}
	return q.pipeline(stages)
}

// check rejects stages in places where they are not allowed and, outside of $facet, metadata that no stage provides
// and a first stage that does not fit the namespace.
func (p *parser) check(out *Pipeline) error {
	if p.in&InFacet == 0 {
		if err := p.checkSource(out); err != nil {
			return err
		}
	}
	detailed := false // whether an earlier stage makes scoreDetails
	for i, s := range out.stages {
		c, name := s.Constraints(), s.Name()
		if err := p.checkPlace(c, name); err != nil {
			return err
		}
		if err := p.checkNeighbours(out.stages, i); err != nil {
			return err
		}
		if p.in&InFacet == 0 {
			if err := checkMeta(s, out.stages[0], detailed); err != nil {
				return err
			}
		}
		switch s := s.(type) {
		case *fusionStage:
			detailed = s.details
		case *scoreStage:
			detailed = s.details
		}
	}
	if p.in&InFacet != 0 {
		return nil
	}
	if out.metas.has(expr.MetaTextScore) && !startsWithText(out.stages) {
		return unavailable(expr.MetaTextScore.String())
	}
	if out.metas.has(expr.MetaScore) && startsWithText(out.stages) {
		out.metas |= 1 << expr.MetaTextScore // it is the score until $score sets another
	}
	return nil
}

// checkNeighbours returns an error if stage i may not follow the stages before it or precede the stages after
// it.
func (p *parser) checkNeighbours(stages []Stage, i int) error {
	s := stages[i]
	c, name := s.Constraints(), s.Name()
	if def := p.find(name); def != nil && def.Behind != nil {
		if err := def.Behind(s, stages[:i]); err != nil {
			return err
		}
	} else if c.First && i > 0 {
		return mongoerr.New(40602, "%s is only valid as the first stage in a pipeline", name)
	}
	if c.Last && i+1 < len(stages) {
		return mongoerr.New(40601, "%s can only be the final stage in the pipeline", name)
	}
	return nil
}

// startsWithText reports whether the pipeline begins with a text search.
func startsWithText(stages []Stage) bool {
	if len(stages) == 0 {
		return false
	}
	m, ok := stages[0].(*matchStage)
	return ok && match.Features(m.node)&match.UsesText != 0
}

// unavailable returns the error for metadata that no stage provides.
func unavailable(kind string) error {
	return mongoerr.New(40218, "query requires %s metadata, but it is not available", kind)
}

// checkMeta rejects a stage that reads $meta metadata which no earlier stage provides: distances in a $sort without
// $geoNear, scoreDetails without a stage that makes them (detailed). Text scores are checked for the whole pipeline.
//
// Errors: 40218.
func checkMeta(s, first Stage, detailed bool) error {
	var err error
	want := func(kind string) {
		made := true
		switch kind {
		case "geoNearDistance":
			_, made = first.(*geoNearStage)
		case "scoreDetails":
			made = detailed
		}
		if !made && err == nil {
			err = unavailable(kind)
		}
	}
	switch s := s.(type) {
	case *sortStage:
		for i := range s.pattern.Parts {
			want(s.pattern.Parts[i].Meta)
		}
	case *transformStage:
		s.t.Expressions(func(e expr.Expr) {
			expr.NeedsMeta(e, func(k expr.MetaKind) {
				if k != expr.MetaGeoNearDistance {
					want(k.String())
				}
			})
		})
	}
	return err
}

// checkSource returns an error if the first stage cannot run on the pipeline's namespace: on a collection, or
// on none ({aggregate: 1}).
func (p *parser) checkSource(out *Pipeline) error {
	if len(out.stages) == 0 {
		if p.ns.Coll == "" && p.depth == 0 {
			return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
		}
		return nil
	}
	c, name := out.stages[0].Constraints(), out.stages[0].Name()
	switch {
	case p.ns.Coll != "" && c.Collectionless && !c.OnCollection:
		if c.NoCollection != nil {
			return c.NoCollection()
		}
		return mongoerr.New(mongoerr.InvalidNamespace, "%s must be run against a database with {aggregate: 1}", name)
	case p.ns.Coll == "" && !c.Collectionless:
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for '%s'; a collection is required.", name)
	case c.AdminOnly && p.ns.DB != "admin" && p.ns.Coll == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "%s must be run against the 'admin' database with {aggregate: 1}", name)
	}
	return nil
}

// checkPlace returns an error if a stage is not allowed in this kind of pipeline, such as a sub-pipeline of
// $facet or a view.
func (p *parser) checkPlace(c Constraints, name string) error {
	no := c.NotIn & p.place
	if no == 0 {
		no = c.NotIn & p.in
	}
	switch {
	case no&InFacet != 0:
		return mongoerr.New(40600, "%s is not allowed to be used within a $facet stage", name)
	case no&InLookup != 0:
		return mongoerr.New(51047, "%s is not allowed within a $lookup's sub-pipeline", name)
	case no&InUnion != 0:
		return mongoerr.New(31441, "%s is not allowed within a $unionWith's sub-pipeline", name)
	case no&InTransaction != 0:
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Stage not supported inside of a multi-document transaction: %s", name)
	case no&InView != 0:
		return mongoerr.New(mongoerr.OptionNotSupportedOnView, "%s is not allowed in a view definition", name)
	}
	return nil
}

// documentArg returns the argument of a stage that must be a document.
func documentArg(v bson.Value, code mongoerr.Code, format string, args ...any) (bson.Raw, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(code, format, args...)
	}
	return d, nil
}

// pipelineDocs returns the stages in a value that must be a pipeline; ok is false if v is no array or contains
// anything but documents.
func pipelineDocs(v bson.Value) (stages []bson.Raw, ok bool) {
	a, ok := v.Array()
	if !ok {
		return nil, false
	}
	for it := a.Iter(); it.Next(); {
		d, ok := it.Value.Doc()
		if !ok {
			return nil, false
		}
		stages = append(stages, d)
	}
	return stages, true
}
