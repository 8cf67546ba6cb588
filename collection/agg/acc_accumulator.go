package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var accAccumulator = AccumulatorDef{Name: "$accumulator", Parse: parseAccumulator, Ordered: true, OnlyGroups: true, Since: "4.4", Doc: "reference/operator/aggregation/accumulator"}

// scriptFunc is a parsed $accumulator: an accumulator whose functions are written in JavaScript.
type scriptFunc struct {
	init, accumulate, merge, finalize *expr.Script // finalize may be nil
	initArgs, args                    expr.Expr    // initArgs may be nil
	arg                               bson.Raw
}

func parseAccumulator(p *parser, name string, v bson.Value) (Func, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(4544703, "$accumulator expects an object as an argument; found: %s", v.Type)
	}
	if !p.env.JavaScript {
		return nil, mongoerr.New(4544706, "$accumulator is not allowed: JavaScript is disabled")
	}
	f := &scriptFunc{arg: d.Clone()}
	lang := bson.Value{}
	var err error
	for it := d.Iter(); it.Next(); {
		switch field := string(it.Name); field {
		case "init":
			f.init, err = scriptArg(p.env, field, it.Value)
		case "accumulate":
			f.accumulate, err = scriptArg(p.env, field, it.Value)
		case "merge":
			f.merge, err = scriptArg(p.env, field, it.Value)
		case "finalize":
			f.finalize, err = scriptArg(p.env, field, it.Value)
		case "initArgs":
			f.initArgs, err = expr.Parse(p.env, it.Value)
		case "accumulateArgs":
			f.args, err = expr.Parse(p.env, it.Value)
		case "lang":
			lang = it.Value
		default:
			return nil, mongoerr.New(4544705, "$accumulator got an unexpected field: %s", field)
		}
		if err != nil {
			return nil, err
		}
	}
	text, _ := lang.Str()
	switch {
	case f.init == nil:
		return nil, mongoerr.New(4544707, "$accumulator missing required argument 'init'")
	case f.accumulate == nil:
		return nil, mongoerr.New(4544708, "$accumulator missing required argument 'accumulate'")
	case f.args == nil:
		return nil, mongoerr.New(4544710, "$accumulator missing required argument 'accumulateArgs'")
	case f.merge == nil:
		return nil, mongoerr.New(4544709, "$accumulator missing required argument 'merge'")
	case !lang.IsMissing() && text != "js":
		return nil, mongoerr.New(4544704, "$accumulator only supports lang: 'js'")
	}
	return f, nil
}

func scriptArg(env *mql.Env, name string, v bson.Value) (*expr.Script, error) {
	source, err := expr.ScriptSource(v)
	if err != nil {
		return nil, mongoerr.New(4544701, "$accumulator '%s' must be of type string or code, found %s", name, v.Type)
	}
	return expr.CompileScript(env, source)
}

func (f *scriptFunc) Paths(add func(string)) { f.args.Paths(add) }

func (f *scriptFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Raw("$accumulator", f.arg)
	b.End()
}

func (f *scriptFunc) Start(env *mql.Env, id bson.Value, s *expr.Scratch) (State, error) {
	var args []bson.Value
	if f.initArgs != nil {
		doc := bson.Empty
		if d, ok := id.Doc(); ok {
			doc = d
		}
		v, err := f.initArgs.Eval(env, doc, s)
		if err != nil {
			return nil, err
		}
		a, ok := v.Array()
		if !ok {
			return nil, mongoerr.New(4544711, "$accumulator initArgs must evaluate to an array, found %s", v.Type)
		}
		for it := a.Iter(); it.Next(); {
			args = append(args, it.Value)
		}
	}
	t := &scriptState{f: f, s: s}
	_, err := t.call(env, s, f.init, args...)
	return t, err
}

// scriptState holds the state of an $accumulator for one group: the value that its JavaScript functions return
// and receive again. The arguments of later documents wait in pending, so that the state is converted to a value of
// JavaScript and back once for many documents: a conversion for each would take time quadratic in the size of a state
// that grows.
type scriptState struct {
	f       *scriptFunc
	v       bson.Value
	pending []bson.Raw    // lists of arguments of accumulate
	bytes   int           // memory of pending
	s       *expr.Scratch // of the operator; its VM is reused
}

// Limits of the arguments that wait: pendingListsMax lists; pendingBytesMax bytes, or the size of the state if it is larger.
const (
	pendingListsMax = 1000
	pendingBytesMax = 32 << 10
	pendingBytes    = 32 // memory of a list beside its bytes
)

// call runs one JavaScript function of the $accumulator and stores its result as the state. grew is the number
// of bytes by which the state has grown.
func (t *scriptState) call(env *mql.Env, s *expr.Scratch, script *expr.Script, args ...bson.Value) (grew int, err error) {
	vm, err := s.Script(env)
	if err != nil {
		return 0, err
	}
	v, err := vm.Call(env, script, &s.Arena, bson.Value{}, args...)
	if err != nil {
		return 0, err
	}
	return t.keep(v), nil
}

// keep stores v as the state.
func (t *scriptState) keep(v bson.Value) (grew int) {
	if v.IsMissing() {
		v = bson.Null
	}
	t.v, grew = copyInto(t.v, v)
	return grew
}

func (t *scriptState) Add(env *mql.Env, doc bson.Raw, s *expr.Scratch) (int, error) {
	v, err := t.f.args.Eval(env, doc, s)
	if err != nil {
		return 0, err
	}
	a, ok := v.Array()
	if !ok {
		return 0, mongoerr.New(4544712, "accumulateArgs must evaluate to an array, found %s", v.Type)
	}
	t.pending = append(t.pending, a.Clone())
	size := len(a) + pendingBytes
	t.bytes += size
	if len(t.pending) < pendingListsMax && t.bytes < max(pendingBytesMax, len(t.v.Data)) {
		return size, nil
	}
	grew, err := t.accumulate(env, s)
	return grew + size, err
}

// accumulate calls accumulate with the arguments that wait.
func (t *scriptState) accumulate(env *mql.Env, s *expr.Scratch) (grew int, err error) {
	if len(t.pending) == 0 {
		return 0, nil
	}
	vm, err := s.Script(env)
	if err != nil {
		return 0, err
	}
	v, err := vm.Fold(env, t.f.accumulate, &s.Arena, t.v, t.pending)
	if err != nil {
		return 0, err
	}
	grew = t.keep(v) - t.bytes
	clear(t.pending)
	t.pending, t.bytes = t.pending[:0], 0
	return grew, nil
}

func (t *scriptState) flush(env *mql.Env) error {
	_, err := t.accumulate(env, t.s)
	return err
}

func (t *scriptState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	before, err := t.accumulate(env, t.s)
	if err != nil {
		return before, err
	}
	grew, err := t.call(env, t.s, t.f.merge, t.v, partial)
	return before + grew, err
}

func (t *scriptState) Partial(b *bson.Builder, name string) { appendOrNull(b, name, t.v) }

func (t *scriptState) Result(env *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	if _, err := t.accumulate(env, s); err != nil {
		return err
	}
	if t.f.finalize != nil {
		if _, err := t.call(env, s, t.f.finalize, t.v); err != nil {
			return err
		}
	}
	appendOrNull(b, name, t.v)
	return nil
}
