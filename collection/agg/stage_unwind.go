package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageUnwind = StageDef{Name: "$unwind", Names: []string{"includeArrayIndex"}, Parse: parseUnwind, Constraints: Constraints{KeepsOrder: true},
	Doc: "reference/operator/aggregation/unwind"}

// unwindStage is $unwind: it makes one document for each element of an array.
type unwindStage struct {
	path     fieldName
	index    fieldName // field for the position; nil = none
	preserve bool      // keep documents without elements
	// keep holds the fields that this stage and the later ones read; the others are not copied for each element. Nil
	// copies whole documents.
	keep *keptFields
}

func parseUnwind(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	s := &unwindStage{}
	switch arg.Type {
	case bson.TypeString:
		return s.parsePath(arg)
	case bson.TypeDocument:
	default:
		return nil, mongoerr.New(15981, "expected either a string or an object as specification for $unwind stage, got %s", arg.Type)
	}
	var path bson.Value
	for it := bson.Raw(arg.Data).Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "path":
			if v.Type != bson.TypeString {
				return nil, mongoerr.New(28808, "expected a string as the path for $unwind stage, got %s", v.Type)
			}
			path = v
		case "preserveNullAndEmptyArrays":
			b, ok := v.Boolean()
			if !ok {
				return nil, mongoerr.New(28809, "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got %s", v.Type)
			}
			s.preserve = b
		case "includeArrayIndex":
			name, ok := v.Str()
			switch {
			case !ok || v.Type != bson.TypeString || name == "":
				return nil, mongoerr.New(28810, "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got %s", v.Type)
			case name[0] == '$':
				return nil, mongoerr.New(28822, "includeArrayIndex option to $unwind stage should not be prefixed with a '$': %s", name)
			}
			var err error
			if s.index, err = checkField(name); err != nil {
				return nil, err
			}
		default:
			return nil, mongoerr.New(28811, "unrecognized option to $unwind stage: %s", it.Name)
		}
	}
	if path.IsMissing() {
		return nil, mongoerr.New(28812, "no path specified to $unwind stage")
	}
	return s.parsePath(path)
}

func (s *unwindStage) parsePath(v bson.Value) ([]Stage, error) {
	text, _ := v.Str()
	switch {
	case text == "":
		return nil, mongoerr.New(28812, "no path specified to $unwind stage")
	case text[0] != '$':
		return nil, mongoerr.New(28818, "path option to $unwind stage should be prefixed with a '$': %s", text)
	}
	var err error
	s.path, err = checkField(text[1:])
	return []Stage{s}, err
}

func (s *unwindStage) Name() string             { return "$unwind" }
func (s *unwindStage) Constraints() Constraints { return stageUnwind.Constraints }
func (s *unwindStage) Split() Split             { return everywhere(s) }

func (s *unwindStage) Append(b *bson.Builder) {
	b.BeginDoc("$unwind")
	b.String("path", "$"+s.path.String())
	if s.preserve {
		b.Bool("preserveNullAndEmptyArrays", true)
	}
	if s.index != nil {
		b.String("includeArrayIndex", s.index.String())
	}
	b.End()
}

func (s *unwindStage) Reads(add func(string)) bool {
	add(s.path.String())
	if s.index != nil {
		add(s.index.String())
	}
	return false
}

func (s *unwindStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &unwindOp{base: base{in: in, stage: s}, unwindStage: s}, nil
}

type unwindOp struct {
	base
	maker
	*unwindStage
	from  *exec.Row // the row being unwound
	rest  bson.Raw  // its document, or the kept fields of it
	left  bson.Iter
	kept  []byte // memory of the kept fields
	at    int64
	first []byte // document without the index field, for includeArrayIndex
}

func (o *unwindOp) Next(env *mql.Env) (*exec.Row, error) {
	for {
		if err := env.Tick(); err != nil {
			return nil, err
		}
		if o.from != nil {
			if o.left.Next() {
				o.at++
				return o.element(env, o.left.Value, o.at-1)
			}
			o.from = nil
		}
		r, err := o.in.Next(env)
		if r == nil || err != nil {
			return nil, err
		}
		v := o.path.get(r.Doc)
		a, isArray := v.Array()
		switch {
		case isArray && !a.IsEmpty():
			o.from, o.left, o.at = r, a.Iter(), 0
			if err := o.pruned(env, a); err != nil {
				return nil, err
			}
			continue
		case isArray || v.IsNullish():
			if !o.preserve {
				continue
			}
			if isArray {
				v = bson.Value{}
			}
		}
		if o.index == nil && !isArray {
			o.returned++
			return r, nil
		}
		o.from, o.rest = r, r.Doc
		row, err := o.element(env, v, -1)
		o.from = nil
		return row, err
	}
}

// pruned sets rest to the fields of the row that are copied for each element of the array a: a copy of the kept fields
// if a has several elements, else the whole row.
func (o *unwindOp) pruned(env *mql.Env, a bson.Raw) error {
	o.rest = o.from.Doc
	it := a.Iter()
	if o.keep == nil || !it.Next() || !it.Next() {
		return nil
	}
	if cap(o.kept) > keepBytesMax {
		o.kept = nil
	}
	b := bson.NewBuilder(o.kept[:0])
	o.keep.appendFrom(b, o.from.Doc)
	o.kept = b.Finish()
	o.rest = o.kept
	return o.scratch.CountExtra(env, 2*cap(o.kept)) // the kept fields and the row made of them
}

func (o *unwindOp) Park() (int, bool) {
	if o.from != nil { // inside an array
		return 0, true
	}
	return o.in.Park()
}

func (o *unwindOp) Close() {
	o.base.Close()
	o.scratch.Close()
}

// element returns the row for one element of the array; at is its position, -1 if there is no element.
func (o *unwindOp) element(env *mql.Env, v bson.Value, at int64) (*exec.Row, error) {
	o.returned++
	if o.index == nil {
		appendWith(o.begin(), o.rest, o.path, v)
		return o.end(env, o.from)
	}
	b := bson.NewBuilder(o.first[:0])
	appendWith(b, o.rest, o.path, v)
	o.first = b.Finish()
	o.scratch.Reset()
	index := bson.Null
	if at >= 0 {
		index = o.scratch.Int64(at)
	}
	appendWith(o.begin(), o.first, o.index, index)
	return o.end(env, o.from)
}

func (o *unwindOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }

// passMatch moves conditions of a following $match in front of the $unwind, except on the array and index field.
func (s *unwindStage) passMatch(m *matchStage) ([]Stage, bool) { return pushParts(s, m, s.origin) }

// origin returns the path unchanged, because $unwind does not write to it; ok is false for the array, paths
// below or above it, and the index field.
func (s *unwindStage) origin(p path.Path) (path.Path, bool) {
	if p.Conflicts(path.Must(s.path.String())) {
		return p, false
	}
	return free(s.index, nil)(p)
}
