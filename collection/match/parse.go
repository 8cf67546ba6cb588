package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// parser holds the state of one Parse.
type parser struct {
	env       *mql.Env
	operators []Operator // a copy of the global, whose rows refer to parse functions
	keywords  []schemaKeyword
	rules     rules
	depth     int
	// nested is set inside of an $elemMatch and for a Condition, where $where, $text, $expr and $sampleRate are not
	// allowed.
	nested bool
}

// depthMax is the largest depth to which filters may be nested; documents have the same limit.
const depthMax = 200

// Parse reads a filter. Nodes keep no reference to the bytes of filter. Strings compare by env's collation. $expr
// may use the variables of env.Vars.
//
// Errors: 2 BadValue for unknown operators and bad arguments, 14 TypeMismatch, 9 FailedToParse and numbered codes of
// single operators, the errors of expr.Parse.
func Parse(env *mql.Env, filter bson.Raw) (Node, error) {
	return newParser(env).filter(filter.Clone())
}

func newParser(env *mql.Env) *parser {
	return &parser{env: env, operators: Operators, keywords: schemaKeywords, rules: rulesOf(env)}
}

// filter reads {field: condition, …}; all conditions must hold.
func (p *parser) filter(doc bson.Raw) (Node, error) {
	if p.depth++; p.depth > depthMax {
		return nil, mongoerr.New(mongoerr.BadValue, "exceeded maximum query tree depth of %d", depthMax)
	}
	defer func() { p.depth-- }()
	var list []Node
	for it := doc.Iter(); it.Next(); {
		if err := p.env.Spend(nodeWork); err != nil {
			return nil, err
		}
		name := string(it.Name)
		if len(name) > 0 && name[0] == '$' && !(p.nested && bson.IsDBRefField(name)) {
			op := p.find(name, Top)
			if op == nil {
				return nil, mongoerr.New(mongoerr.BadValue, "unknown top level operator: %s. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.", name)
			}
			n, err := p.operator(operand{op: op, value: it.Value, all: doc})
			if err != nil {
				return nil, err
			}
			if n != nil {
				list = append(list, n)
			}
			continue
		}
		var err error
		if list, err = p.field(list, path.Must(name), it.Value); err != nil {
			return nil, err
		}
	}
	return conjunction(list), nil
}

// field reads the condition of one field.
func (p *parser) field(list []Node, at path.Path, v bson.Value) ([]Node, error) {
	if isOperatorDoc(v, p.nested) {
		return p.ops(list, at, bson.Raw(v.Data))
	}
	var n Node
	var err error
	if v.Type == bson.TypeRegex {
		n, err = p.regexLeaf(at, v)
	} else {
		n, err = p.comparison(at, opEqual, v)
	}
	if err != nil {
		return nil, err
	}
	return append(list, n), nil
}

// ops reads {$op: argument, …} on a field.
func (p *parser) ops(list []Node, at path.Path, doc bson.Raw) ([]Node, error) {
	if p.depth++; p.depth > depthMax {
		return nil, mongoerr.New(mongoerr.BadValue, "exceeded maximum query tree depth of %d", depthMax)
	}
	defer func() { p.depth-- }()
	if n, ok, err := p.near(at, doc); ok || err != nil {
		return append(list, n), err
	}
	for it := doc.Iter(); it.Next(); {
		name := string(it.Name)
		op := p.find(name, Field)
		if op == nil {
			return nil, mongoerr.New(mongoerr.BadValue, "unknown operator: %s", name)
		}
		n, err := p.operator(operand{op: op, path: at, value: it.Value, all: doc})
		if err != nil {
			return nil, err
		}
		if n != nil {
			list = append(list, n)
		}
	}
	return list, nil
}

// operator parses one operator, if the client's account supports it.
func (p *parser) operator(a operand) (Node, error) {
	if err := p.env.Cosmos.Check(cosmos.Query, a.op.Name); err != nil {
		return nil, err
	}
	return a.op.Parse(p, a)
}

// isOperatorDoc reports whether v is a document of operators, {$op: …}, and not a document to compare with. The
// first field decides. A DBRef, with $ref and $id, is a document to compare with; if incomplete is set, $ref, $id or
// $db alone is enough. Manual: reference/database-references.
func isOperatorDoc(v bson.Value, incomplete bool) bool {
	d, ok := v.Doc()
	if !ok {
		return false
	}
	f, ok := d.First()
	if !ok || len(f.Name) == 0 || f.Name[0] != '$' {
		return false
	}
	return !isDBRef(d, incomplete)
}

func isDBRef(d bson.Raw, incomplete bool) bool {
	ref, id, db := false, false, false
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "$ref":
			ref = true
		case "$id":
			id = true
		case "$db":
			db = true
		}
	}
	return incomplete && (ref || id || db) || ref && id
}

// badValue returns the error of most bad arguments.
func badValue(format string, args ...any) error {
	return mongoerr.New(mongoerr.BadValue, format, args...)
}
