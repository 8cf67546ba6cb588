package agg

import (
	"errors"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Func is a parsed accumulator, such as {$sum: "$qty"}. Immutable, safe for concurrent use.
type Func interface {
	// Start returns the empty state of one group. id is the group's _id, to which some arguments may refer.
	Start(env *mql.Env, id bson.Value, s *expr.Scratch) (State, error)
	// Paths calls add with the dotted paths in documents that the accumulator reads, "" for the whole document.
	Paths(add func(path string))
	// Append appends the accumulator as canonical MQL under name.
	Append(b *bson.Builder, name string)
}

// State holds what an accumulator has computed from the documents of one group. Documents come in the
// order of the input.
type State interface {
	// Add adds a document. grew is the number of bytes by which the state has grown.
	Add(env *mql.Env, doc bson.Raw, s *expr.Scratch) (grew int, err error)
	// Merge adds the partial state of a later part of the group's documents, computed by another state of the
	// same accumulator, such as on another shard.
	Merge(env *mql.Env, partial bson.Value) (grew int, err error)
	// Partial, before which flush is called on a flusher, appends the state as a BSON value under name, from which Merge of another state can continue.
	Partial(b *bson.Builder, name string)
	// Result appends the accumulated value under name.
	Result(env *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error
}

// flusher is a State that delays work. flush does that work; Partial requires it.
type flusher interface{ flush(env *mql.Env) error }

// AccumulatorDef is a row of the table of accumulators.
type AccumulatorDef struct {
	// Name with the dollar sign.
	Name string
	// Parse reads the accumulator's argument.
	Parse func(p *parser, name string, arg bson.Value) (Func, error)
	// Ordered reports that the result depends on the order of the documents.
	Ordered bool
	// OnlyGroups excludes the accumulator from $setWindowFields.
	OnlyGroups bool
	// Since is the first release of MongoDB with the accumulator, such as "8.2". It is "" if the accumulator is
	// older than 3.6 or not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// accumulator returns the row of an accumulator, nil if there is none.
func (t *tables) accumulator(name string) *AccumulatorDef {
	i := sort.Search(len(t.accumulators), func(i int) bool { return t.accumulators[i].Name >= name })
	if i < len(t.accumulators) && t.accumulators[i].Name == name {
		return &t.accumulators[i]
	}
	return nil
}

// output is one computed field of $group and similar stages.
type output struct {
	name    string
	fn      Func
	ordered bool // the result depends on the order of the documents
}

// accumulated parses one computed field of $group and similar stages, {field: {$accumulator: argument}}.
//
// Errors: 40234, 40235, 40236, 40238, 15952 for a bad field; that of Cosmos.Check; errors of the accumulator's parser.
func (p *parser) accumulated(name string, v bson.Value) (output, error) {
	if i := indexByte(name, '.'); i >= 0 {
		return output{}, mongoerr.New(40235, "The field name '%s' cannot contain '.'", name)
	}
	d, ok := v.Doc()
	f, some := d.First()
	switch {
	case len(name) > 0 && name[0] == '$':
		return output{}, mongoerr.New(40236, "The field name '%s' cannot be an operator name", name)
	case !ok || !some || len(f.Name) == 0 || f.Name[0] != '$':
		return output{}, mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	case d.Len() != 1:
		return output{}, mongoerr.New(40238, "The field '%s' must specify one accumulator", name)
	}
	def := p.accumulator(string(f.Name))
	if def == nil {
		return output{}, mongoerr.New(15952, "unknown group operator '%s'", f.Name)
	}
	if err := p.env.Cosmos.Check(cosmos.Accumulator, def.Name); err != nil {
		return output{}, err
	}
	fn, err := def.Parse(p, def.Name, f.Value)
	return output{name, fn, def.Ordered}, err
}

func indexByte(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// argument parses the argument of an accumulator that has only one. In a window, a list is an array expression;
// elsewhere it is an error.
//
// Errors: 40237 for a list outside a window; errors of expr.Parse, outside a window with the codes of zeroDivision.
func (p *parser) argument(name string, v bson.Value) (expr.Expr, error) {
	if p.window {
		return expr.Parse(p.env, v)
	}
	if v.Type == bson.TypeArray {
		return nil, mongoerr.New(40237, "The %s accumulator is a unary operator", name)
	}
	e, err := expr.Parse(p.env, v)
	if err != nil {
		return nil, zeroDivision(err)
	}
	if c, ok := expr.IsConstant(e); ok {
		e = expr.Constant(stored(c))
	}
	return e, nil
}

// zeroDivision replaces the error of a division by zero by the one with the code that it has in accumulators:
// 4848401 for $divide, 4848403 for $mod. Observed: mongod 8.2, which runs accumulators in another engine.
func zeroDivision(err error) error {
	switch {
	case err == nil:
	case errors.Is(err, expr.ErrDivideByZero):
		return mongoerr.New(4848401, "can't $divide by zero")
	case mongoerr.CodeOf(err) == 16610:
		return mongoerr.New(4848403, "can't $mod by zero")
	}
	return err
}

// unaryFunc is an accumulator with one argument, whose values it accumulates.
type unaryFunc struct {
	name string
	arg  expr.Expr
	make func(env *mql.Env) valueState
}

// valueState is the state of an accumulator that evaluates one argument on each document: it receives the argument's
// values. unaryState evaluates the argument and makes a State of it.
type valueState interface {
	// take adds a value, which may be missing. The state copies what it keeps.
	take(env *mql.Env, v bson.Value) (grew int, err error)
	Merge(env *mql.Env, partial bson.Value) (grew int, err error)
	Partial(b *bson.Builder, name string)
	Result(env *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error
}

// dropper is a valueState from which the oldest value can be removed, when it leaves a window. drop returns
// false if it cannot remove that value: the window is then accumulated anew.
type dropper interface {
	drop(env *mql.Env, v bson.Value) bool
}

// unary returns the parse function of an accumulator that has one expression as its argument.
func unary(start func(env *mql.Env) valueState) func(*parser, string, bson.Value) (Func, error) {
	return func(p *parser, name string, v bson.Value) (Func, error) {
		arg, err := p.argument(name, v)
		if err != nil {
			return nil, err
		}
		return &unaryFunc{name, arg, start}, nil
	}
}

func (f *unaryFunc) Start(env *mql.Env, _ bson.Value, _ *expr.Scratch) (State, error) {
	return &unaryState{f.make(env), f.arg}, nil
}

func (f *unaryFunc) Paths(add func(string)) { f.arg.Paths(add) }

func (f *unaryFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	f.arg.Append(b, f.name)
	b.End()
}

// unaryState is a State that evaluates the accumulator's argument on each document and passes the value to a
// valueState.
type unaryState struct {
	valueState
	arg expr.Expr
}

func (u *unaryState) Add(env *mql.Env, doc bson.Raw, s *expr.Scratch) (int, error) {
	v, err := u.arg.Eval(env, doc, s)
	if err != nil {
		return 0, zeroDivision(err)
	}
	if err := env.Spend(len(v.Data)); err != nil {
		return 0, err
	}
	return u.take(env, v)
}

// copyInto returns a copy of v in the memory of the value old, which it replaces, and the number of bytes by
// which this memory has grown.
func copyInto(old, v bson.Value) (kept bson.Value, grew int) {
	before := cap(old.Data)
	kept = bson.Value{Type: v.Type, Data: append(old.Data[:0], v.Data...)}
	return kept, cap(kept.Data) - before
}
