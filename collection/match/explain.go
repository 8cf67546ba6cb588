package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Explain returns the reasons why doc does not match the filter n. A failed validation sends them to the client as
// the document errInfo.details. The result is empty if doc matches. Manual:
// core/schema-validation/specify-json-schema/json-schema-tips (error output). Errors: the errors of Matches.
func Explain(env *mql.Env, n Node, doc bson.Raw, s *expr.Scratch) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	e := explainer{env: env, doc: doc, s: s, b: b}
	e.node(n, false)
	return b.Doc(), e.err
}

// explainer appends the reasons why one document has a result for a filter. The boolean parameter of its methods is
// the result to be explained: false for a condition that does not hold, true below a negation for a condition that
// holds.
type explainer struct {
	env *mql.Env
	doc bson.Raw
	s   *expr.Scratch
	b   *bson.Builder
	err error
}

func (e *explainer) is(n Node, want bool) bool {
	ok, err := n.Matches(e.env, e.doc, e.s)
	if err != nil && e.err == nil {
		e.err = err
	}
	return ok == want
}

// node appends the reasons why n has the given result for the document. If n has the other result, it appends
// nothing.
func (e *explainer) node(n Node, want bool) {
	if !e.is(n, want) {
		return
	}
	switch n := n.(type) {
	case *And:
		e.clauses("$and", n.list, want)
	case *Or:
		e.clauses("$or", n.list, want)
	case *Nor:
		e.clauses("$nor", n.list, !want)
	case *Not:
		e.not(n, want)
	case *Schema:
		e.schema(n, want)
	case *Leaf:
		e.leaf(n, want)
	case *ElemMatch:
		e.leaf(&n.Leaf, want)
	case *Expr:
		e.b.String("operatorName", "$expr")
		e.b.BeginDoc("specifiedAs")
		e.b.Value("$expr", n.source)
		e.b.End()
		if want {
			e.b.String("reason", "expression did match")
		} else {
			e.b.String("reason", "expression did not match")
		}
		v, _ := n.e.Eval(e.env, e.doc, e.s)
		e.b.Value("expressionResult", v)
	case Always:
		if n {
			e.b.String("operatorName", "$alwaysTrue")
		} else {
			e.b.String("operatorName", "$alwaysFalse")
		}
		e.specified(n)
		if n {
			e.b.String("reason", "expression always evaluates to true")
		} else {
			e.b.String("reason", "expression always evaluates to false")
		}
	default:
		e.specified(n)
	}
}

// specified appends specifiedAs: the condition n, as the client wrote it if that is stored, else in canonical form.
func (e *explainer) specified(n Node) {
	e.b.BeginDoc("specifiedAs")
	switch x := n.(type) {
	case *Leaf:
		if v := writtenIn(x); !v.IsMissing() {
			e.written(x, x.Operator(), v)
			break
		}
		n.Append(e.b)
	case *Not:
		if l, ok := x.child.(*Leaf); ok && l.Operator() == "$in" && !writtenIn(l).IsMissing() {
			e.written(l, "$nin", writtenIn(l))
			break
		}
		n.Append(e.b)
	default:
		n.Append(e.b)
	}
	e.b.End()
}

// written appends a condition as it was written.
func (e *explainer) written(l *Leaf, op string, v bson.Value) {
	e.b.BeginDoc(l.path.String())
	e.b.Value(op, v)
	e.b.End()
}

// writtenIn returns the operand of a condition as the client wrote it, for operators that also store it in another
// form, such as a sorted $in; the result is missing for other operators.
func writtenIn(l *Leaf) bson.Value {
	switch p := l.pred.(type) {
	case *in:
		return p.written
	case *typeSet:
		return p.written
	}
	return bson.Value{}
}

// clauses appends the explanation of an $and, $or or $nor: its clauses that have the given result, with their
// reasons.
func (e *explainer) clauses(op string, list []Node, want bool) {
	e.b.String("operatorName", op)
	if want {
		e.b.BeginArray("clausesSatisfied")
	} else {
		e.b.BeginArray("clausesNotSatisfied")
	}
	for i, c := range list {
		if !e.is(c, want) {
			continue
		}
		e.b.BeginDoc("")
		e.b.Int32("index", int32(i))
		e.b.BeginDoc("details")
		e.node(c, want)
		e.b.End()
		e.b.End()
	}
	e.b.End()
}

// not appends the explanation of a $not. A Not node also represents other operators, such as {$exists: false}; such
// a node is explained as that operator.
func (e *explainer) not(n *Not, want bool) {
	if l, ok := n.child.(*Leaf); ok {
		switch l.pred.(type) {
		case exists:
			e.b.String("operatorName", "$exists")
			e.b.BeginDoc("specifiedAs")
			e.b.BeginDoc(l.path.String())
			e.b.Bool("$exists", false)
			e.b.End()
			e.b.End()
			e.reason(l, !want)
			return
		case *comparison, *in:
			name := map[string]string{"$eq": "$ne", "$in": "$nin"}[l.Operator()]
			if name != "" {
				e.b.String("operatorName", name)
				e.specified(n)
				e.reason(l, !want)
				return
			}
		}
	}
	e.b.String("operatorName", "$not")
	e.b.BeginDoc("details")
	e.node(n.child, !want)
	e.b.End()
}

func (e *explainer) schema(n *Schema, want bool) {
	e.b.String("operatorName", "$jsonSchema")
	if want {
		e.specified(n)
		e.b.String("reason", "schema matched")
		return
	}
	n.root.annotate(e.b)
	n.root.explain(&judge{env: e.env}, e.b, "schemaRulesNotSatisfied", e.doc.Value())
}

func (e *explainer) leaf(l *Leaf, want bool) {
	e.b.String("operatorName", l.Operator())
	e.specified(l)
	e.reason(l, want)
}

// reason appends why a condition on a path has the given result and, except for $exists, up to 100 values at the
// path.
func (e *explainer) reason(l *Leaf, want bool) {
	var values []bson.Value
	l.path.Walk(e.doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		if !v.IsMissing() {
			values = append(values, v)
		}
		return len(values) < 100
	})
	_, isExists := l.pred.(exists)
	if len(values) == 0 && !isExists && !want {
		e.b.String("reason", "field was missing")
		return
	}
	reason, yes := l.pred.reasons()
	if want {
		reason = yes
	}
	e.b.String("reason", reason)
	switch {
	case isExists || len(values) == 0:
	case len(values) == 1:
		e.b.Value("consideredValue", values[0])
		if _, isType := l.pred.(*typeSet); isType {
			e.b.String("consideredType", values[0].Type.String())
		}
	default:
		e.b.BeginArray("consideredValues")
		for _, v := range values {
			e.b.Value("", v)
		}
		e.b.End()
	}
}
