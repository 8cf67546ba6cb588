package agg

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"
)

var (
	stageChangeStream      = StageDef{Name: "$changeStream", Parse: parseChangeStream, Skim: skimInfo("$changeStream"), Doc: "reference/operator/aggregation/changeStream"}
	stageChangeStreamSplit = StageDef{Name: "$changeStreamSplitLargeEvent", Parse: parseChangeStreamSplit, Doc: "reference/operator/aggregation/changeStreamSplitLargeEvent"}
)

// changeStreamStage delivers the changes of a collection, a database or the
// whole server; the Opener makes the events.
type changeStreamStage struct {
	ns  collection.Namespace
	arg bson.Raw
}

func parseChangeStream(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := wantDoc(arg, 6188500, "the $changeStream stage specification must be an object, found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	if err := checkChangeStream(d); err != nil {
		return nil, err
	}
	return []Stage{&changeStreamStage{p.ns, d}}, nil
}

// checkChangeStream looks at the types and names of the options; what a resume
// token says is the business of the one who makes the events.
//
// Errors: TypeMismatch, BadValue, 40415, 40647, 40674, 50865.
func checkChangeStream(d bson.Raw) error {
	err := checkOptions("$changeStream", d, 40415, option{"fullDocument", bson.TypeString}, option{"fullDocumentBeforeChange", bson.TypeString},
		option{"resumeAfter", bson.TypeDocument}, option{"startAfter", bson.TypeDocument}, option{"startAtOperationTime", bson.TypeTimestamp},
		option{"allChangesForCluster", bson.TypeBool}, option{"showExpandedEvents", bson.TypeBool}, option{"showMigrationEvents", bson.TypeBool},
		option{"showSystemEvents", bson.TypeBool}, option{"showRawUpdateDescription", bson.TypeBool}, option{"allowToRunOnConfigDB", bson.TypeBool},
		option{"allowToRunOnSystemNS", bson.TypeBool}, option{"matchCollectionUUIDForUpdateLookup", bson.TypeBool})
	if err != nil {
		return err
	}
	for _, name := range [...]string{"allChangesForCluster", "showExpandedEvents"} {
		if d.Get(name).Type == bson.TypeNull {
			return mongoerr.WrongType("$changeStream."+name, "null", "bool")
		}
	}
	for _, o := range [...]struct {
		name   string
		values [4]string
	}{
		{"fullDocument", [4]string{"default", "updateLookup", "whenAvailable", "required"}},
		{"fullDocumentBeforeChange", [4]string{"off", "whenAvailable", "required"}},
	} {
		text, ok := d.Get(o.name).Str()
		if ok && (text == "" || !slices.Contains(o.values[:], text)) {
			return mongoerr.BadEnum("$changeStream."+o.name, text)
		}
	}
	after, isAfter := d.Get("resumeAfter").Doc()
	start, isStart := d.Get("startAfter").Doc()
	at := d.Get("startAtOperationTime").Type == bson.TypeTimestamp
	switch {
	case isAfter && isStart:
		return mongoerr.New(50865, "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage")
	case at && (isAfter || isStart):
		return mongoerr.New(40674, "Only one type of resume option is allowed, but multiple were found.")
	}
	for _, token := range [...]bson.Raw{after, start} {
		if token != nil && token.Get("_data").Type != bson.TypeString {
			return mongoerr.New(40647, "Bad resume token: _data of missing or of wrong type: %s", token.Get("_data").Type)
		}
	}
	return nil
}

func (s *changeStreamStage) Name() string { return "$changeStream" }
func (s *changeStreamStage) Constraints() Constraints {
	return Constraints{First: true, Source: true, Collectionless: true, NotIn: InFacet | InLookup | InUnion | InView | InTransaction | InUpdate}
}
func (s *changeStreamStage) Split() Split            { return merged(s) }
func (s *changeStreamStage) Append(b *bson.Builder)  { b.Raw("$changeStream", s.arg) }
func (s *changeStreamStage) Reads(func(string)) bool { return true }

func (s *changeStreamStage) Open(env *mql.Env, _ exec.Operator, o Opener) (exec.Operator, error) {
	in, err := o.Changes(env, s.ns, s.arg)
	if err != nil {
		return nil, err
	}
	return &passOp{base{in: in, stage: s}}, nil
}

// passOp counts what its input delivers.
type passOp struct{ base }

func (o *passOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.in.Next(env)
	if r != nil {
		o.returned++
	}
	return r, err
}

// changeStreamSplitStage cuts events beyond 16 MiB into fragments.
type changeStreamSplitStage struct{}

func parseChangeStreamSplit(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	if d, ok := arg.Doc(); !ok || !d.IsEmpty() {
		return nil, mongoerr.New(7182800, "$changeStreamSplitLargeEvent spec should be an empty object")
	}
	return []Stage{changeStreamSplitStage{}}, nil
}

func (s changeStreamSplitStage) Name() string { return "$changeStreamSplitLargeEvent" }
func (s changeStreamSplitStage) Constraints() Constraints {
	return Constraints{Last: true, NotIn: InFacet | InLookup | InUnion | InView | InTransaction | InUpdate}
}
func (s changeStreamSplitStage) Split() Split            { return merged(s) }
func (s changeStreamSplitStage) Append(b *bson.Builder)  { b.Raw(s.Name(), bson.Empty) }
func (s changeStreamSplitStage) Reads(func(string)) bool { return false }

func (s changeStreamSplitStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &splitOp{base: base{in: in, stage: s}}, nil
}

// splitOp hands out the fragments of a large event, each with splitEvent and
// the event's _id.
type splitOp struct {
	base
	maker
	parts [][2]int // ranges of fields of the event
	at    int
	event bson.Raw
}

// fragmentBytesMax is the size of one fragment.
const fragmentBytesMax = userDocBytesMax - 16<<10

func (o *splitOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.at < len(o.parts) {
		return o.fragment()
	}
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	id, _ := r.Doc.Get("_id").Doc()
	resumed := changestream.FragmentOf(id)
	if len(r.Doc) <= userDocBytesMax && resumed == 0 {
		o.returned++
		return r, nil
	}
	o.event = r.Doc
	o.parts, o.at = o.parts[:0], 0
	size, from, i := 0, 0, 0
	for it := r.Doc.Iter(); it.Next(); i++ {
		n := len(it.Name) + len(it.Value.Data) + 2
		if size > 0 && size+n > fragmentBytesMax {
			o.parts = append(o.parts, [2]int{from, i})
			from, size = i, 0
		}
		if n > fragmentBytesMax {
			return nil, mongoerr.New(7182500, "Splitting change event failed: field '%s' does not fit a document", it.Name)
		}
		size += n
	}
	o.parts = append(o.parts, [2]int{from, i})
	if o.at = resumed; o.at >= len(o.parts) {
		return o.Next(env)
	}
	return o.fragment()
}

func (o *splitOp) fragment() (*exec.Row, error) {
	part := o.parts[o.at]
	o.at++
	b := o.begin()
	whole, _ := o.event.Get("_id").Doc()
	id, err := changestream.FragmentToken(whole, o.at)
	if err != nil {
		return nil, mongoerr.New(7182804, "Splitting change event failed: the resume token in '_id' was modified by the pipeline")
	}
	b.Raw("_id", id)
	b.BeginDoc("splitEvent")
	b.Int32("fragment", int32(o.at))
	b.Int32("of", int32(len(o.parts)))
	b.End()
	i := 0
	for it := o.event.Iter(); it.Next(); i++ {
		if i >= part[0] && i < part[1] && string(it.Name) != "_id" {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	o.returned++
	return o.end(nil)
}

func (o *splitOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
