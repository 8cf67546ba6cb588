package agg

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
)

// MatchMode is the action of $merge for a document that exists already.
type MatchMode uint8

// The modes of whenMatched.
const (
	MatchMerge MatchMode = iota
	MatchReplace
	MatchKeep
	MatchFail
	MatchPipeline
	// MatchCombine calls SinkSpec.Combine. Pipelines cannot select it.
	MatchCombine
)

// InsertMode is the action of $merge for a document that does not exist yet.
type InsertMode uint8

// The modes of whenNotMatched.
const (
	MissInsert InsertMode = iota
	MissDiscard
	MissFail
)

// SinkSpec is the target of $out or $merge. Immutable.
type SinkSpec struct {
	NS collection.Namespace
	// Out replaces the whole collection; otherwise the documents are merged.
	Out bool
	// TimeSeries are the options of a time-series collection for $out; nil = none.
	TimeSeries bson.Raw
	// On are the fields by which an existing document is found; nil means _id and the shard key.
	On          []string
	WhenMatched MatchMode
	WhenMissing InsertMode
	// Combine returns the document made of an existing and a new one, for mapReduce's out: {reduce: …}. It is
	// called again when a write is retried.
	Combine func(env *mql.Env, old, fresh bson.Raw) (bson.Raw, error)

	steps []project.Transform // of MatchPipeline
	// stepsErr is an error in the pipeline of whenMatched that is reported when $merge runs, not when it is
	// parsed.
	stepsErr error
	let      []letVar
}

// letVar is a variable of `let`.
type letVar struct {
	name string
	e    expr.Expr
}

// Updated returns the new version of an existing document (old) for which $merge has the document fresh, by
// WhenMatched: old itself for MatchKeep. For MatchFail, the caller reports the error.
//
// Errors: errors of the pipeline of whenMatched, and of Combine.
func (s *SinkSpec) Updated(env *mql.Env, old, fresh bson.Raw) (bson.Raw, error) {
	switch s.WhenMatched {
	case MatchReplace:
		return withID(fresh, old.Get("_id")), nil
	case MatchMerge:
		b := bson.NewBuilder(nil)
		mergeDocs(b, old, fresh)
		return b.Doc(), nil
	case MatchPipeline:
		return s.applied(env, old, fresh)
	case MatchCombine:
		return s.Combine(env, old, fresh)
	}
	return old, nil
}

// Inserted returns the document that $merge inserts for fresh if there is none yet. The modes merge and
// keepExisting are updates with a filter on the fields of `on`. So their documents begin with _id and these fields,
// the latter null if missing, followed by the other fields in the order of their names, as $set and $setOnInsert add
// them. The other modes keep the order of fresh.
func (s *SinkSpec) Inserted(fresh bson.Raw) bson.Raw {
	if s.WhenMatched != MatchMerge && s.WhenMatched != MatchKeep {
		return fresh
	}
	first := bson.Empty
	if id, ok := fresh.Lookup("_id"); ok {
		first = withID(first, id)
	}
	for _, name := range s.On {
		if name == "_id" {
			continue
		}
		names := fieldName(strings.Split(name, "."))
		v := names.get(fresh)
		if v.IsNullish() {
			v = bson.Null
		}
		b := bson.NewBuilder(nil)
		appendWith(b, first, names, v)
		first = b.Doc()
	}
	b := bson.NewBuilder(nil)
	mergeDocs(b, first, fresh)
	return b.Doc()
}

// namedValue is one field of a document.
type namedValue struct {
	name  string
	value bson.Value
}

// byName returns the fields of d in the order in which update operators add them: numeric names first, by
// value, then the other names.
// Manual: reference/operator/update#update-operators-processing-order.
func byName(d bson.Raw) []namedValue {
	var out []namedValue
	for it := d.Iter(); it.Next(); {
		out = append(out, namedValue{string(it.Name), it.Value})
	}
	slices.SortStableFunc(out, func(a, b namedValue) int {
		n, errN := strconv.ParseUint(a.name, 10, 64)
		m, errM := strconv.ParseUint(b.name, 10, 64)
		switch {
		case errN == nil && errM == nil:
			return cmp.Compare(n, m)
		case errN == nil:
			return -1
		case errM == nil:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

// applied runs the pipeline of whenMatched on old.
func (s *SinkSpec) applied(env *mql.Env, old, fresh bson.Raw) (bson.Raw, error) {
	if s.stepsErr != nil {
		return nil, s.stepsErr
	}
	var scratch expr.Scratch
	defer scratch.Close()
	id := old.Get("_id")
	inner, err := bind(env, s.let, fresh, &scratch, true)
	if err != nil {
		return nil, err
	}
	for _, t := range s.steps {
		var s expr.Scratch
		old, err = project.Doc(inner, t, old, &s)
		if s.Close(); err != nil {
			return nil, err
		}
	}
	return withID(old, id), nil
}

// withID returns the document with an _id: if it has none, with id as its first field.
func withID(doc bson.Raw, id bson.Value) bson.Raw {
	if _, ok := doc.Lookup("_id"); ok {
		return doc
	}
	b := bson.NewBuilder(nil)
	b.Value("_id", id)
	b.Splice(doc.Elements())
	return b.Doc()
}

// declare returns a copy of env in which the variables of a `let` are declared, so that expressions can refer
// to them.
func declare(env *mql.Env, let []letVar) *mql.Env {
	inner := *env
	inner.Vars = env.Vars.Clone()
	for _, v := range let {
		inner.Vars.Declare(v.name)
	}
	return &inner
}

// bind returns a copy of env in which the variables of a `let` have their values for doc. The values are in the
// memory of s. With strict, a variable must not be missing.
func bind(env *mql.Env, let []letVar, doc bson.Raw, s *expr.Scratch, strict bool) (*mql.Env, error) {
	inner := declare(env, let)
	for _, v := range let {
		value, err := v.e.Eval(env, doc, s)
		if err != nil {
			return nil, err
		}
		if strict && value.IsMissing() {
			return nil, mongoerr.New(17276, "Use of undefined variable: %s", v.name)
		}
		slot, _ := inner.Vars.Slot(v.name)
		inner.Vars.Set(slot, value)
	}
	return inner, nil
}

// mergeDocs appends the fields of old, with the values of fresh for fields that both have, and then the new
// fields in the order of $set: by name.
func mergeDocs(b *bson.Builder, old, fresh bson.Raw) {
	have := putOver(b, old, fresh)
	for _, f := range byName(fresh) {
		if _, ok := have.Lookup([]byte(f.name)); !ok {
			b.Value(f.name, f.value)
		}
	}
}

// putOver appends the fields of old, with the values of fresh for fields that both have, and returns the fields
// of old. The caller appends the others of fresh.
func putOver(b *bson.Builder, old, fresh bson.Raw) expr.Fields {
	have := expr.FieldsOf(fresh, len(old))
	for it := old.Iter(); it.Next(); {
		if v, ok := have.Lookup(it.Name); ok {
			b.ValueBytes(it.Name, v)
		} else {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return expr.FieldsOf(old, len(fresh))
}

// sinkOp is the operator of $out and $merge: it writes its input to a Sink in batches and delivers nothing.
type sinkOp struct {
	base
	spec *SinkSpec
	sink Sink
	open func(env *mql.Env) (Sink, error)
	done bool
	on   []path.Path
}

const (
	sinkBatchDocs  = 1000
	sinkBatchBytes = 8 << 20
)

func (o *sinkOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.done {
		return nil, nil
	}
	var err error
	if o.sink, err = o.open(env); err != nil {
		return nil, err
	}
	var buf []byte
	var ends []int
	flush := func() error {
		if len(ends) == 0 {
			return nil
		}
		docs, at := make([]bson.Raw, len(ends)), 0
		for i, end := range ends {
			docs[i], at = bson.Raw(buf[at:end:end]), end
		}
		buf, ends = buf[:0], ends[:0]
		return o.sink.Write(env, docs)
	}
	err = exec.Drain(env, o.in, func(r *exec.Row) error {
		if err := o.check(r.Doc); err != nil {
			return err
		}
		buf = append(buf, r.Doc...)
		if ends = append(ends, len(buf)); len(ends) >= sinkBatchDocs || len(buf) >= sinkBatchBytes {
			return flush()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	if err := o.sink.Finish(env); err != nil {
		return nil, err
	}
	o.done = true
	return nil, nil
}

func (o *sinkOp) Park() (int, bool) { return o.in.Park() }

// check rejects documents that cannot be stored.
func (o *sinkOp) check(doc bson.Raw) error {
	if len(doc) > userDocBytesMax {
		return mongoerr.DocumentTooLarge(len(doc), userDocBytesMax)
	}
	for _, p := range o.on {
		v, arrays := doc.Value(), false
		for i := range p.Len() {
			if v.Type == bson.TypeArray {
				arrays = true
			}
			if v.Type != bson.TypeDocument {
				v = bson.Value{}
				break
			}
			v = bson.Raw(v.Data).Get(p.Name(i))
		}
		if arrays || v.Type == bson.TypeArray {
			return mongoerr.New(51185, "$merge write error: 'on' field '%s' cannot be an array", p.String())
		}
	}
	return nil
}

func (o *sinkOp) Close() {
	o.base.Close()
	if o.sink != nil {
		o.sink.Close()
		o.sink = nil
	}
	o.done = true
}
