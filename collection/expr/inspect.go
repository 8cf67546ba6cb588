package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Operation returns the name and the operands of an operator that evaluates operands in order, such as $eq and $and;
// "" for other expressions. The caller must not change the slice.
func Operation(e Expr) (name string, operands []Expr) {
	switch e := e.(type) {
	case *call:
		return e.name, e.args
	case *junction:
		return e.name, e.args
	}
	return "", nil
}

// FieldOf returns the dotted path of an expression that is a field of the document, "$a.b"; ok is false for others.
func FieldOf(e Expr) (path string, ok bool) {
	f, ok := e.(*fieldPath)
	if !ok || f.from != fromCurrent || f.path == "" {
		return "", false
	}
	return f.path, true
}

// VariableOf returns the name of a user's variable, "v" of "$$v"; ok is false for other expressions, also for a path below
// a variable.
func VariableOf(e Expr) (name string, ok bool) {
	f, ok := e.(*fieldPath)
	if !ok || f.from != fromVar || f.path != "" {
		return "", false
	}
	return strings.TrimPrefix(f.text, "$$"), true
}

// Variables calls add with the slot in env.Vars of each variable that e reads.
func Variables(e Expr, add func(slot int)) {
	Walk(e, func(e Expr) {
		if f, ok := e.(*fieldPath); ok && f.from == fromVar {
			add(f.slot)
		}
	})
}

// Known returns the value of an expression that is the same for all documents of a command: a constant, a variable of
// env.Vars, or an operator of such operands. ok is false for other expressions, and if the evaluation fails. env may be
// nil: then only constants have values. The value may alias the expression.
func Known(env *mql.Env, e Expr) (v bson.Value, ok bool) {
	if v, ok := IsConstant(e); ok {
		return v, true
	}
	if env == nil || !isKnown(e) {
		return v, false
	}
	var s Scratch
	defer s.Close()
	v, err := e.Eval(env, bson.Empty, &s)
	if err != nil {
		return bson.Value{}, false
	}
	return v.Clone(), true
}

// isKnown reports whether the value of an expression follows from constants and variables of the command alone.
func isKnown(e Expr) bool {
	switch e := e.(type) {
	case *constant:
		return true
	case *fieldPath:
		return e.from == fromVar || e.from == fromNow || e.from == fromClusterTime
	case *call, *namedCall:
		known := true
		e.(parent).children(func(c Expr) { known = known && isKnown(c) })
		return known
	}
	return false
}
