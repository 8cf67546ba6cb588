package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageRedact = StageDef{Name: "$redact", OwnFields: true, Parse: parseRedact, Constraints: Constraints{KeepsOrder: true}, AfterChanges: true,
	Doc: "reference/operator/aggregation/redact"}

// redactStage is $redact: at each level of a document, an expression decides whether to keep the level, to
// prune it, or to descend into embedded documents.
type redactStage struct {
	e     expr.Expr // sees DESCEND, KEEP and PRUNE as variables
	plain bson.Value
	// filtered reports that conditions of the $match behind the stage were copied in front of it.
	filtered bool
}

// The values of $$DESCEND, $$KEEP and $$PRUNE.
const (
	redactDescend = "descend"
	redactKeep    = "keep"
	redactPrune   = "prune"
)

// redactVars are the variables of $redact and their values.
var redactVars = [...][2]string{{"DESCEND", redactDescend}, {"KEEP", redactKeep}, {"PRUNE", redactPrune}}

// redactEnv returns an Env in which the variables of $redact have their values.
func redactEnv(env *mql.Env) *mql.Env {
	inner := *env
	inner.Vars = env.Vars.Clone()
	var a bson.Arena
	for _, v := range redactVars {
		inner.Vars.Set(inner.Vars.Declare(v[0]), a.String(v[1]))
	}
	return &inner
}

func parseRedact(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	e, err := expr.Parse(redactEnv(p.env), arg)
	if err != nil {
		return nil, err
	}
	return []Stage{&redactStage{e: e, plain: arg}}, nil
}

func (s *redactStage) Name() string             { return "$redact" }
func (s *redactStage) Constraints() Constraints { return stageRedact.Constraints }
func (s *redactStage) Split() Split             { return everywhere(s) }
func (s *redactStage) Append(b *bson.Builder)   { b.Value("$redact", s.plain) }
func (s *redactStage) Reads(add func(string)) bool {
	add("")
	return false
}

func (s *redactStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &redactOp{base: base{in: in, stage: s}, e: s.e}, nil
}

type redactOp struct {
	base
	maker
	e     expr.Expr
	outer *mql.Env
	inner *mql.Env
}

func (o *redactOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.outer != env {
		o.outer, o.inner = env, redactEnv(env)
	}
	for {
		r, err := o.in.Next(env)
		if r == nil || err != nil {
			return nil, err
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		o.setRow(r)
		o.scratch.Root = r.Doc
		b := o.begin()
		keep, err := o.level(b, r.Doc)
		if err != nil {
			return nil, err
		}
		if keep {
			o.returned++
			return o.end(env, r)
		}
	}
}

func (o *redactOp) Park() (int, bool) { o.buf = nil; return o.in.Park() }

func (o *redactOp) Close() {
	o.base.Close()
	o.scratch.Close()
}

// level evaluates the expression of $redact for one level of a document, and appends the fields to keep to the
// open document of b.
func (o *redactOp) level(b *bson.Builder, doc bson.Raw) (keep bool, err error) {
	v, err := o.e.Eval(o.inner, doc, &o.scratch)
	if err != nil {
		return false, err
	}
	text, _ := v.Text()
	switch string(text) {
	case redactPrune:
		return false, nil
	case redactKeep:
		b.Splice(doc.Elements())
		return true, nil
	case redactDescend:
	default:
		return false, mongoerr.New(17053, "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but returned %s", v.Type)
	}
	for it := doc.Iter(); it.Next(); {
		switch it.Value.Type {
		case bson.TypeDocument:
			mark := b.Mark()
			b.BeginDocBytes(it.Name)
			keep, err := o.level(b, bson.Raw(it.Value.Data))
			if err != nil {
				return false, err
			}
			if keep {
				b.End()
			} else {
				b.Cut(mark)
			}
		case bson.TypeArray:
			b.BeginArrayBytes(it.Name)
			if err := o.array(b, bson.Raw(it.Value.Data)); err != nil {
				return false, err
			}
			b.End()
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return true, nil
}

func (o *redactOp) array(b *bson.Builder, arr bson.Raw) error {
	for it := arr.Iter(); it.Next(); {
		switch it.Value.Type {
		case bson.TypeDocument:
			mark := b.Mark()
			b.BeginDoc("")
			keep, err := o.level(b, bson.Raw(it.Value.Data))
			if err != nil {
				return err
			}
			if keep {
				b.End()
			} else {
				b.Cut(mark)
			}
		case bson.TypeArray:
			b.BeginArray("")
			if err := o.array(b, bson.Raw(it.Value.Data)); err != nil {
				return err
			}
			b.End()
		default:
			b.Value("", it.Value)
		}
	}
	return nil
}
