package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Outline describes a pipeline by the names of its stages and of their collections, before anything is parsed.
// A command computes it once. Authorisation, checks of read concern and stable API, views, and the choice of a
// snapshot use it. It aliases the stages.
type Outline struct {
	Stages []bson.Raw
	table  []StageDef
	// First and Last are the definitions of the first and last stage; nil for an unknown or empty stage, or if
	// there are no stages.
	First, Last *StageDef
	// Limited are the stages that are restricted to some read concerns, not in the stable API, or not allowed
	// in a view definition. They are in order, and only of the pipeline itself, not of its sub-pipelines.
	Limited []Use
	// Involved are the namespaces that stages of the pipeline and of its sub-pipelines name; the pipeline's own
	// collection is not listed. A stage that shows something other than collections ($collStats, $currentOp, …) is
	// an Involved without a namespace. The list is complete if Err is nil.
	Involved []Involved
	// Err is the first error: 40323 for a stage that is no document of one field, 40324 for an unknown name,
	// others for arguments with a repeated field or that Skim rejects, and for sub-pipelines that are too deep or too
	// long. It is reported when the pipeline is opened.
	Err error
}

// Use is a stage with its argument.
type Use struct {
	*StageDef
	Arg bson.Value
}

// Involved is a namespace, or a view of the server's state, that a stage accesses in addition to the pipeline's
// own collection.
type Involved struct {
	// Use is the stage that has the access.
	Use
	// NS is the namespace. An empty DB means the command's database, an empty Coll no collection.
	NS collection.Namespace
	// On is the collection of the sub-pipeline that contains the stage; an empty DB means the command's
	// database. Nested is true in sub-pipelines.
	On     collection.Namespace
	Nested bool
	// argument is the parsed argument of the stage.
	argument any
}

// Needs reports whether a user needs the privilege p, of the stage's definition, for the stage's argument.
func (i *Involved) Needs(p *Privilege, user collection.User) bool {
	return p.If == nil || p.If(i.argument, user)
}

// NewOutline returns the outline of a pipeline.
func NewOutline(stages []bson.Raw) *Outline {
	o := &Outline{}
	o.Read(stages)
	return o
}

// Read makes o the outline of a pipeline.
func (o *Outline) Read(stages []bson.Raw) {
	*o = Outline{Stages: stages, table: Stages}
	o.read()
}

// read looks the stages up in the table.
func (o *Outline) read() {
	for i, raw := range o.Stages {
		f, def, err := o.firstField(raw)
		if o.Err == nil && err == nil {
			err = o.skim(f.Value, def, Involved{}, 0)
		}
		if o.Err == nil {
			o.Err = err
		}
		if i == 0 {
			o.First = def
		}
		o.Last = def
		if def != nil && (def.ReadLevel != "" || def.Unstable != nil || def.NoView != 0) {
			o.Limited = append(o.Limited, Use{def, f.Value})
		}
	}
}

// firstField returns the name and argument of a stage, and its definition, which is nil for an unknown name. It
// may return a definition even with an error.
//
// Errors: 40323, 40324.
func (o *Outline) firstField(raw bson.Raw) (bson.Field, *StageDef, error) {
	f, ok := raw.First()
	if !ok {
		return f, nil, notOneField()
	}
	def := findStage(o.table, string(f.Name))
	switch {
	case raw.Len() != 1:
		return f, def, notOneField()
	case def == nil:
		return f, nil, unknownStage(f.Name)
	}
	return f, def, nil
}

// notOneField returns the error for a stage that is not {$name: argument}.
func notOneField() error {
	return mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
}

// unknownStage returns the error for an unknown stage name.
func unknownStage(name []byte) error {
	return mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
}

// skim adds to Involved what a stage and its sub-pipelines access. at has the On and Nested of the stage, depth
// the number of pipelines around its pipeline.
func (o *Outline) skim(arg bson.Value, def *StageDef, at Involved, depth int) error {
	if err := def.refuseRepeated(arg); err != nil || def.Skim == nil {
		return err
	}
	argument, err := def.Skim(arg)
	if err != nil {
		return err
	}
	m := argument.mentioned()
	if m.NS.DB == "" {
		m.NS.DB = at.On.DB // the DB of the pipeline that contains the stage
	}
	inner := at
	if !def.SameInput {
		inner = Involved{On: m.NS, Nested: true}
	}
	if m.NS.Coll != "" || def.Source {
		if len(o.Involved) > stagesMax*depthMax {
			return mongoerr.New(7749501, "Pipeline length must be no longer than %d stages", stagesMax)
		}
		i := Involved{Use: Use{def, arg}, On: at.On, Nested: at.Nested, argument: argument}
		if m.NS.Coll != "" {
			i.NS = m.NS
		}
		o.Involved = append(o.Involved, i)
	}
	for _, stages := range m.Subs {
		if err := o.skimSub(stages, inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// skimSub records what a sub-pipeline accesses.
func (o *Outline) skimSub(stages []bson.Raw, at Involved, depth int) error {
	if depth > depthMax {
		return mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", depthMax)
	}
	for _, raw := range stages {
		f, def, err := o.firstField(raw)
		if err != nil {
			return err
		}
		if err := o.skim(f.Value, def, at, depth); err != nil {
			return err
		}
	}
	return nil
}

// Writes reports whether the pipeline ends in $out or $merge.
func (o *Outline) Writes() bool { return o.Last != nil && o.Last.Writes }

// Watches reports whether the pipeline begins with $changeStream.
func (o *Outline) Watches() bool { return o.First != nil && o.First.Watches }

// BySelf reports whether the first stage reads its collection by sub-pipelines, as $rankFusion does. The stages
// of a view must then precede the stages of these sub-pipelines.
func (o *Outline) BySelf() bool { return o.First != nil && o.First.BySelf }

// ReadsCollection reports whether the pipeline reads the documents of its collection.
func (o *Outline) ReadsCollection() bool {
	return o.First == nil || !o.First.Source || o.First.BySelf
}

// FirstArg returns the argument of the first stage.
func (o *Outline) FirstArg() bson.Value {
	if len(o.Stages) == 0 {
		return bson.Value{}
	}
	f, _ := o.Stages[0].First()
	return f.Value
}

// Filter returns the filter of a leading $match, nil if there is none.
func (o *Outline) Filter() bson.Raw {
	if o.First == nil || o.First.Name != stageMatch.Name {
		return nil
	}
	d, _ := o.FirstArg().Doc()
	return d
}
