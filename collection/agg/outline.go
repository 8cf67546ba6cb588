package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Outline is what can be told of a pipeline by the names of its stages and the
// collections they name, before anything is parsed. It is made once for a command
// and handed to all who ask: authorisation, checks of read concern and stable API,
// views, the choice of a snapshot. It aliases the stages.
type Outline struct {
	Stages []bson.Raw
	table  []StageDef
	// First and Last are the rows of these stages; nil for unknown ones and without
	// stages.
	First, Last *StageDef
	// Limited are the stages, in order, that do not go with every read concern, with
	// the stable API, or with a view definition: those of the pipeline itself, not
	// those of sub-pipelines.
	Limited []Use
	// Involved are the namespaces that the pipeline and its sub-pipelines name, and
	// the stages that show something else than collections ($collStats, $currentOp,
	// …, as an Involved without a namespace). Complete if Err is nil.
	Involved []Involved
	// Err is what is wrong with a pipeline that cannot be told apart into stages:
	// 40323 for a stage that is no document of one field, 40324 for an unknown name,
	// others for sub-pipelines that are too deep or too long. Who opens the pipeline
	// reports it.
	Err error
}

// Use is a stage with its argument.
type Use struct {
	*StageDef
	Arg bson.Value
}

// Involved is something a pipeline touches beside the collection it runs on.
type Involved struct {
	// Use is the stage that touches it.
	Use
	// NS is the namespace; DB is empty where the stage means the command's
	// database, Coll is empty where it means none.
	NS collection.Namespace
	// On is the collection of the sub-pipeline that the stage stands in, with an
	// empty DB for the command's; Nested tells it from the command's own pipeline.
	On     collection.Namespace
	Nested bool
	// argument is what the stage's argument has been read as.
	argument any
}

// Needs reports whether a privilege of the stage's row is needed by a user.
func (i *Involved) Needs(p *Privilege, user collection.User) bool {
	return p.If == nil || p.If(i.argument, user)
}

// NewOutline reads the outline of a pipeline.
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
		f, def, err := o.known(raw)
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

// known returns the first field of a stage and its row, which is nil for an unknown
// name. A stage with an error may have a row nevertheless.
//
// Errors: 40323, 40324.
func (o *Outline) known(raw bson.Raw) (bson.Field, *StageDef, error) {
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

// notOneField is the error of a stage that is not {$name: argument}.
func notOneField() error {
	return mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
}

// unknownStage is the error of a name that no stage has.
func unknownStage(name []byte) error {
	return mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
}

// skim notes what a stage touches; at has its On and Nested.
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
		m.NS.DB = at.On.DB // that of the pipeline in which the stage stands
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

// skimSub notes what a sub-pipeline touches.
func (o *Outline) skimSub(stages []bson.Raw, at Involved, depth int) error {
	if depth > depthMax {
		return mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", depthMax)
	}
	for _, raw := range stages {
		f, def, err := o.known(raw)
		if err != nil {
			return err
		}
		if err := o.skim(f.Value, def, at, depth); err != nil {
			return err
		}
	}
	return nil
}

// Writes reports a pipeline that ends in $out or $merge.
func (o *Outline) Writes() bool { return o.Last != nil && o.Last.Writes }

// Watches reports a pipeline that begins with $changeStream.
func (o *Outline) Watches() bool { return o.First != nil && o.First.Watches }

// BySelf reports a pipeline whose first stage reads its collection by pipelines of
// its own, so that the stages of a view come before those.
func (o *Outline) BySelf() bool { return o.First != nil && o.First.BySelf }

// ReadsCollection reports a pipeline that reads the documents of its collection.
func (o *Outline) ReadsCollection() bool {
	return o.First == nil || !o.First.Source || o.First.BySelf
}

// FirstArg is the argument of the first stage.
func (o *Outline) FirstArg() bson.Value {
	if len(o.Stages) == 0 {
		return bson.Value{}
	}
	f, _ := o.Stages[0].First()
	return f.Value
}

// Filter is that of a leading $match, nil if there is none.
func (o *Outline) Filter() bson.Raw {
	if o.First == nil || o.First.Name != stageMatch.Name {
		return nil
	}
	d, _ := o.FirstArg().Doc()
	return d
}
