package agg

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	stageChangeStream = reading(StageDef{Name: "$changeStream",
		Constraints: Constraints{First: true, Source: true, Watches: true, Collectionless: true, OnCollection: true,
			NotIn: notOverChanges, NoView: mongoerr.OptionNotSupportedOnView},
		Privileges: []Privilege{
			{Action: "changeStream", On: OnInput, If: where(changeStreamArgs.ofOneSource)}, {Action: "find", On: OnInput, If: where(changeStreamArgs.ofOneSource)},
			{Action: "changeStream", On: Everywhere, If: where(changeStreamArgs.ofCluster), Case: "with allChangesForCluster"},
			{Action: "find", On: Everywhere, If: where(changeStreamArgs.ofCluster), Case: "with allChangesForCluster"}},
		ReadLevel: "majority", UnstableField: "showExpandedEvents", Since: "3.6", Doc: "reference/operator/aggregation/changeStream"}, readChangeStream, parseChangeStream)
	stageChangeStreamSplit = StageDef{Name: "$changeStreamSplitLargeEvent", Parse: parseChangeStreamSplit, Behind: onlyChanges,
		Constraints: Constraints{Last: true, NotIn: notOverChanges}, AfterChanges: true, Since: "7.0", Doc: "reference/operator/aggregation/changeStreamSplitLargeEvent"}
)

// notOverChanges are the places where change streams are not allowed.
const notOverChanges = InFacet | InLookup | InUnion | InView | InTransaction | InUpdate

// changeStreamArgs are the validated options of $changeStream.
type changeStreamArgs struct{ doc bson.Raw }

func (changeStreamArgs) mentioned() Mentioned { return Mentioned{} }

// ofCluster reports whether the stream has the changes of the whole server.
func (a changeStreamArgs) ofCluster(collection.User) bool {
	return a.doc.Get("allChangesForCluster").Truthy()
}

// ofOneSource reports whether the stream has the changes of one collection or database.
func (a changeStreamArgs) ofOneSource(user collection.User) bool { return !a.ofCluster(user) }

func readChangeStream(arg bson.Value) (a changeStreamArgs, err error) {
	if a.doc, err = documentArg(arg, 6188500, "the $changeStream stage specification must be an object, found %s", arg.Type); err != nil {
		return a, err
	}
	return a, checkChangeStream(a.doc)
}

// onlyChanges rejects a stage outside of the pipeline of a change stream.
// Errors: IllegalOperation (20).
func onlyChanges(s Stage, before []Stage) error {
	if len(before) == 0 || !before[0].Constraints().Watches {
		return mongoerr.New(mongoerr.IllegalOperation, "%s can only be used in a $changeStream pipeline", s.Name())
	}
	return nil
}

// changeStreamStage is $changeStream: it delivers the changes of a collection, a database or the whole server.
// The Opener makes the events.
type changeStreamStage struct {
	ns  collection.Namespace
	arg bson.Raw
}

func parseChangeStream(p *parser, a changeStreamArgs) ([]Stage, error) {
	return []Stage{&changeStreamStage{p.ns, a.doc}}, nil
}

// checkChangeStream validates the options of $changeStream and their combination. The Opener validates resume tokens.
//
// Errors: TypeMismatch, BadValue, 40415, 40647, 40674, 50865.
func checkChangeStream(d bson.Raw) error {
	err := checkOptions("$changeStream", d, 40415, option{"fullDocument", bson.TypeString}, option{"fullDocumentBeforeChange", bson.TypeString},
		option{"resumeAfter", bson.TypeDocument}, option{"startAfter", bson.TypeDocument}, option{"startAtOperationTime", bson.TypeTimestamp},
		option{"allChangesForCluster", bson.TypeBool}, option{"showExpandedEvents", bson.TypeBool}, option{"showMigrationEvents", bson.TypeBool},
		option{"showSystemEvents", bson.TypeBool}, option{"showRawUpdateDescription", bson.TypeBool}, option{"allowToRunOnConfigDB", bson.TypeBool},
		option{"allowToRunOnSystemNS", bson.TypeBool}, option{"matchCollectionUUIDForUpdateLookup", bson.TypeBool},
		option{"ignoreRemovedShards", bson.TypeBool}, option{"version", bson.TypeString})
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
		{"version", [4]string{"v1", "v2"}},
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
		if token != nil && !isTokenData(token.Get("_data").Type) {
			return mongoerr.New(40647, "Bad resume token: _data of missing or of wrong type: %s", token.Get("_data").Type)
		}
	}
	return nil
}

// isTokenData reports whether t is a type that the field _data of a resume token can have, in MongoDB or in
// Azure Cosmos DB.
func isTokenData(t bson.Type) bool { return t == bson.TypeString || t == bson.TypeBinary }

func (s *changeStreamStage) Name() string             { return "$changeStream" }
func (s *changeStreamStage) Constraints() Constraints { return stageChangeStream.Constraints }
func (s *changeStreamStage) Split() Split             { return merged(s) }
func (s *changeStreamStage) Append(b *bson.Builder)   { b.Raw("$changeStream", s.arg) }
func (s *changeStreamStage) Reads(func(string)) bool  { return true }

func (s *changeStreamStage) Open(env *mql.Env, _ exec.Operator, o Opener) (exec.Operator, error) {
	in, err := o.Changes(env, s.ns, s.arg)
	if err != nil {
		return nil, err
	}
	return &passOp{base{in: in, stage: s}}, nil
}

// passOp counts the rows of its input.
type passOp struct{ base }

func (o *passOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.in.Next(env)
	if r != nil {
		o.returned++
	}
	return r, err
}

func (o *passOp) Park() (int, bool) { return o.in.Park() }

// changeStreamSplitStage is $changeStreamSplitLargeEvent: it cuts events beyond 16 MiB into fragments.
type changeStreamSplitStage struct{}

func parseChangeStreamSplit(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	if d, ok := arg.Doc(); !ok || !d.IsEmpty() {
		return nil, mongoerr.New(7182800, "$changeStreamSplitLargeEvent spec should be an empty object")
	}
	return []Stage{changeStreamSplitStage{}}, nil
}

func (s changeStreamSplitStage) Name() string             { return "$changeStreamSplitLargeEvent" }
func (s changeStreamSplitStage) Constraints() Constraints { return stageChangeStreamSplit.Constraints }
func (s changeStreamSplitStage) Split() Split             { return merged(s) }
func (s changeStreamSplitStage) Append(b *bson.Builder)   { b.Raw(s.Name(), bson.Empty) }
func (s changeStreamSplitStage) Reads(func(string)) bool  { return false }

func (s changeStreamSplitStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &splitOp{base: base{in: in, stage: s}}, nil
}

// splitOp delivers the fragments of a large change event, each with the field splitEvent and an _id. The
// smallest fields come first, so that the first fragment has as many fields as possible. Other events pass unchanged.
type splitOp struct {
	base
	maker
	parts [][]bson.Raw // elements of the event, by fragment
	at    int
	id    bson.Raw // of the event
}

// Sizes of the fragments of a change event, in bytes. A fragment takes more fields up to fragmentBytesMax.
// fieldBytesMax is the limit for a fragment whose only field is large: a document of the largest size fits.
// fragmentHead is reserved for the head of a fragment.
const (
	fragmentBytesMax = userDocBytesMax - fragmentHead
	fieldBytesMax    = userDocBytesMax + 16<<10 - fragmentHead
	fragmentHead     = 512
)

func (o *splitOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.at < len(o.parts) {
		return o.fragment(env)
	}
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	o.id, _ = r.Doc.Get("_id").Doc()
	resumed := changestream.FragmentOf(o.id)
	if len(r.Doc) <= userDocBytesMax && resumed == 0 {
		o.returned++
		return r, nil
	}
	if err := o.divide(r.Doc); err != nil {
		return nil, err
	}
	if o.at = resumed; o.at >= len(o.parts) {
		return o.Next(env)
	}
	return o.fragment(env)
}

func (o *splitOp) Park() (int, bool) {
	if o.at < len(o.parts) { // between the fragments of an event
		return 0, true
	}
	return o.in.Park()
}

// divide distributes the fields of a change event to fragments, which alias the event.
// Errors: Location7182500 for a field that is too large.
func (o *splitOp) divide(event bson.Raw) error {
	var fields []bson.Raw
	it := event.Iter()
	for from := it.Offset(event); it.Next(); from = it.Offset(event) {
		field := event[from:it.Offset(event)]
		if len(field) > fieldBytesMax {
			return mongoerr.New(7182500, "Splitting change event failed: field '%s' does not fit a document", it.Name)
		}
		if string(it.Name) != "_id" {
			fields = append(fields, field)
		}
	}
	slices.SortStableFunc(fields, func(a, b bson.Raw) int { return cmp.Compare(len(a), len(b)) })
	o.parts = [][]bson.Raw{nil}
	size := 0
	for _, f := range fields {
		if size > 0 && size+len(f) > fragmentBytesMax {
			o.parts, size = append(o.parts, nil), 0
		}
		last := len(o.parts) - 1
		o.parts[last] = append(o.parts[last], f)
		size += len(f)
	}
	return nil
}

func (o *splitOp) fragment(env *mql.Env) (*exec.Row, error) {
	part := o.parts[o.at]
	o.at++
	b := o.begin()
	id, err := changestream.FragmentToken(o.id, o.at)
	if err != nil {
		return nil, mongoerr.New(7182804, "Splitting change event failed: the resume token in '_id' was modified by the pipeline")
	}
	b.Raw("_id", id)
	b.BeginDoc("splitEvent")
	b.Int32("fragment", int32(o.at))
	b.Int32("of", int32(len(o.parts)))
	b.End()
	for _, f := range part {
		b.Splice(f)
	}
	o.returned++
	return o.end(env, nil)
}

func (o *splitOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
