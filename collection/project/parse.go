package project

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// pathDepthMax is the largest number of components of a projected path.
// Manual: reference/limits#std-label-limit-nested-depth.
const pathDepthMax = 200

// parser parses a projection of a find or a $project stage.
type parser struct {
	env *mql.Env
	// find is set for the projection of a find command, which has the operators $slice and $elemMatch of its own,
	// and the positional operator; not for a stage such as $project.
	find   bool
	filter match.Node

	root  *tree
	typed bool // kind is determined
	kind  Kind
	// idKept and idDropped are set if the projection has _id: 1 or 0, which does not determine its kind.
	idKept, idDropped bool
	positional        bool
	elemMatch, meta   bool
}

// ParseFind parses the projection of a find. filter is the filter of the find, for the positional operator. An empty
// projection changes nothing.
//
// Errors: 31249 and 31250 for colliding paths, 31253 and 31254 for mixing inclusion and exclusion, and others by
// number.
func ParseFind(env *mql.Env, spec bson.Raw, filter match.Node) (Transform, error) {
	if spec.IsEmpty() {
		t := &projection{tree: &tree{kind: Exclusion}, source: bson.Empty}
		t.tree.seal()
		return t, nil
	}
	p := parser{env: env, find: true, filter: filter, root: &tree{}}
	return p.parse(spec.Clone())
}

// parse parses the specification and determines its kind.
func (p *parser) parse(spec bson.Raw) (Transform, error) {
	if err := p.fields(spec, ""); err != nil {
		return nil, err
	}
	kind := p.kind
	if !p.typed {
		// The projection has only _id, $slice, $meta or $elemMatch: $elemMatch and an included _id make it an
		// inclusion, and so does $meta in a stage.
		kind = Exclusion
		if p.elemMatch || p.idKept || p.meta && !p.find {
			kind = Inclusion
		}
	}
	p.root.kind = kind
	if kind == Inclusion && p.root.find("_id") == nil {
		p.root.put(child{name: "_id", act: keep})
	}
	p.root.seal()
	t := &projection{tree: p.root, source: spec}
	if p.positional {
		pos, err := newPositional(p.filter)
		if err != nil {
			return nil, err
		}
		t.pos = pos
	}
	return t, nil
}

// fields parses the fields of d, a document in a projection. prefix is the path of d with a dot at the end.
func (p *parser) fields(d bson.Raw, prefix string) error {
	for it := d.Iter(); it.Next(); {
		if err := p.field(prefix+string(it.Name), it.Value); err != nil {
			return err
		}
	}
	return nil
}

// field reads one field.
func (p *parser) field(path string, v bson.Value) error {
	before, positional := p.cutPositional(path)
	if err := checkPath(before); err != nil {
		if p.find && strings.Contains(path, ".$.") {
			return mongoerr.New(31394, "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection may only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, remove the parts following the '$' and the results will be equivalent.")
		}
		if !p.find && (strings.HasSuffix(path, ".$") || strings.Contains(path, ".$.")) {
			return mongoerr.New(31324, "Cannot use positional projection in aggregation projection")
		}
		return err
	}
	d, isDoc := v.Doc()
	switch {
	case isDoc && positional:
		return mongoerr.New(31271, "positional projection cannot be used with an expression or sub object")
	case isDoc && d.IsEmpty():
		return mongoerr.New(51270, "An empty sub-projection is not a valid value. Found empty object at path %s", path)
	case isDoc && d.Len() == 1 && strings.HasPrefix(firstName(d), "$"):
		return p.operator(path, d)
	case isDoc:
		return p.fields(d, path+".")
	case !v.IsNumber() && v.Type != bson.TypeBool:
		if positional {
			return mongoerr.New(31308, "positional projection cannot be used with a literal")
		}
		return p.computed(path, v)
	case v.Truthy():
		return p.include(before, positional)
	}
	if positional {
		return mongoerr.New(31395, "positional projection cannot be used with exclusion")
	}
	return p.exclude(path)
}

// cutPositional removes the final ".$" of a find's path.
func (p *parser) cutPositional(path string) (before string, ok bool) {
	if !p.find {
		return path, false
	}
	return strings.CutSuffix(path, ".$")
}

func firstName(d bson.Raw) string {
	f, _ := d.First()
	return string(f.Name)
}

func (p *parser) include(path string, positional bool) error {
	if positional {
		switch {
		case p.positional:
			return mongoerr.New(31276, "Cannot specify more than one positional projection per query.")
		case p.elemMatch:
			return mongoerr.New(31256, "Cannot specify positional operator and $elemMatch.")
		case p.filter == nil:
			return mongoerr.New(51050, "Projections with a positional operator require a matcher")
		}
		p.positional = true
	}
	if err := p.add(path, child{act: keep, positional: positional}); err != nil {
		return err
	}
	if path == "_id" {
		p.idKept = true
		return nil
	}
	if p.typed && p.kind != Inclusion {
		return mongoerr.New(31253, "Cannot do inclusion on field %s in exclusion projection", path)
	}
	p.typed, p.kind = true, Inclusion
	return nil
}

func (p *parser) exclude(path string) error {
	if err := p.add(path, child{act: drop}); err != nil {
		return err
	}
	if path == "_id" {
		p.idDropped = true
		return nil
	}
	if p.typed && p.kind != Exclusion {
		return mongoerr.New(31254, "Cannot do exclusion on field %s in inclusion projection", path)
	}
	p.typed, p.kind = true, Exclusion
	return nil
}

// computed parses a projected value that is neither flag nor document: a literal, or a field path.
func (p *parser) computed(path string, v bson.Value) error {
	e, err := expr.Parse(p.env, v)
	if err != nil {
		return err
	}
	if p.typed && p.kind != Inclusion {
		return mongoerr.New(31310, "Cannot use an expression %s in an exclusion projection", path)
	}
	p.typed, p.kind = true, Inclusion
	return p.add(path, child{act: compute, expr: e})
}

// operator reads {$op: …}.
func (p *parser) operator(path string, d bson.Raw) error {
	f, _ := d.First()
	name := string(f.Name)
	switch {
	case p.find && name == "$slice":
		c, ok, err := parseCut(f.Value)
		if err != nil {
			return err
		}
		// On the path of a positional operator, $slice is parsed as the aggregation expression of that name (and
		// fails for lack of operands), as MongoDB does.
		if k := p.root.find(path); ok && (k == nil || !k.positional) {
			return p.add(path, child{act: slice, cut: c})
		}
	case p.find && name == "$elemMatch":
		return p.element(path, f.Value)
	case name == "$elemMatch":
		return mongoerr.New(mongoerr.InvalidPipelineOperator, "Unrecognized expression '$elemMatch'")
	case name == "$meta":
		if err := p.env.Cosmos.Check(cosmos.Projection, name); err != nil {
			return err
		}
	case !isExpression(name):
		return mongoerr.New(31325, "Unknown expression %s", name)
	}
	if p.typed && p.kind != Inclusion && name != "$meta" {
		return mongoerr.New(31252, "Cannot use expression other than $meta in exclusion projection")
	}
	e, err := expr.Parse(p.env, d.Value())
	if err != nil {
		return err
	}
	if name == "$meta" {
		p.meta = true
	} else {
		p.typed, p.kind = true, Inclusion
	}
	return p.add(path, child{act: compute, expr: e})
}

func (p *parser) element(path string, cond bson.Value) error {
	switch {
	case cond.Type != bson.TypeDocument:
		return mongoerr.New(31274, "elemMatch: Invalid argument, object required, but got %s", cond.Type)
	case p.positional:
		return mongoerr.New(31255, "Cannot specify positional operator and $elemMatch.")
	case strings.Contains(path, "."):
		return mongoerr.New(31275, "Cannot use $elemMatch projection on a nested field.")
	}
	e, err := match.ParseElemMatch(p.env, cond)
	if err != nil {
		return err
	}
	p.elemMatch = true
	return p.add(path, child{act: element, elem: e})
}

// add adds a child at the end of a path.
func (p *parser) add(path string, k child) error { return p.root.add(path, path, k) }

func (t *tree) add(full, rest string, k child) error {
	name, tail, more := strings.Cut(rest, ".")
	have := t.find(name)
	if !more {
		if have != nil {
			return mongoerr.New(31250, "Path collision at %s", full)
		}
		k.name = name
		t.put(k)
		return nil
	}
	if have == nil {
		t.put(child{name: name, act: descend, tree: &tree{}})
		have = &t.children[len(t.children)-1]
	}
	if have.act != descend {
		return mongoerr.New(31249, "Path collision at %s remaining portion %s", full, tail)
	}
	have.positional = have.positional || k.positional
	return have.tree.add(full, tail, k)
}

// checkPath validates a dotted path.
func checkPath(path string) error {
	switch {
	case path == "":
		return mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
	case strings.HasSuffix(path, "."):
		return mongoerr.New(40353, "FieldPath must not end with a '.'.")
	}
	n := 0
	for part := range strings.SplitSeq(path, ".") {
		switch {
		case part == "":
			return mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		case part[0] == '$' && !bson.IsDBRefField(part):
			return mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.IndexByte(part, 0) >= 0:
			return mongoerr.New(16411, "FieldPath field names may not contain '\\0'.")
		}
		if n++; n > pathDepthMax {
			return mongoerr.New(mongoerr.Overflow, "FieldPath is too long")
		}
	}
	return nil
}

// isExpression reports whether there is an expression operator of that name.
func isExpression(name string) bool {
	_, ok := slices.BinarySearchFunc(expr.Operators, name, func(o expr.Operator, n string) int { return strings.Compare(o.Name, n) })
	return ok
}
