package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
)

// Options describe the command of the update.
type Options struct {
	// Multi forbids replacements.
	Multi bool
}

// Program is a parsed update. Immutable, safe for concurrent use.
type Program struct {
	// root is the tree of operators; nil for replacements and pipelines.
	root *node
	// ops are the operations in the order of the update.
	ops []operation
	// positional reports that a path has a $ component.
	positional bool
	filters    []arrayFilter
	// replacement is the new document; nil for operators and pipelines.
	replacement bson.Raw
	// diff is the diff that ParseDiff read from an oplog entry; nil for updates of other forms.
	diff     *diff
	stages   []project.Transform
	pipeline bool
}

// operation is one path of an operator update.
type operation struct {
	op *Operator
	at *fieldPath
}

// Parse reads an update: a document of operators, a replacement document or an array of stages. The Program keeps no
// reference to the bytes of u. Manual: reference/command/update.
//
// Errors: FailedToParse (unknown or malformed operators, array filters that are not used, multi with a replacement),
// TypeMismatch, BadValue, ConflictingUpdateOperators, EmptyFieldName, DollarPrefixedFieldName, and the errors of
// Cosmos.Check, of single operators, of filters and of stages (InvalidOptions for stages that are not allowed in
// updates).
func Parse(env *mql.Env, u bson.Value, arrayFilters []bson.Raw, o Options) (*Program, error) {
	switch u.Type {
	case bson.TypeArray:
		if len(arrayFilters) > 0 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified for pipeline-style updates")
		}
		return parsePipeline(env, bson.Raw(u.Data))
	case bson.TypeDocument:
		doc := bson.Raw(u.Data).Clone()
		if f, ok := doc.First(); ok && len(f.Name) > 0 && f.Name[0] == '$' {
			return parseOperators(env, Operators, doc, arrayFilters)
		}
		return parseReplacement(doc, o) // array filters have no effect on it
	}
	return nil, mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array, but is %s", u.Type)
}

// parser holds the state of parsing operators.
type parser struct {
	env  *mql.Env
	p    *Program
	op   *Operator // operator being parsed
	used []bool    // whether each array filter is used
}

// parseOperators parses {$op: {path: argument}} with the operators of a table.
func parseOperators(env *mql.Env, table []Operator, doc bson.Raw, arrayFilters []bson.Raw) (*Program, error) {
	p := &parser{env: env, p: &Program{root: &node{step: step{index: -1}, filter: -1}}}
	if err := p.arrayFilters(arrayFilters); err != nil {
		return nil, err
	}
	for it := doc.Iter(); it.Next(); {
		name := string(it.Name)
		op := find(table, name)
		if op == nil && env.Strict() && name == opPushAll.Name {
			op = &opPushAll
		}
		if op == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"Unknown modifier: %s. Expected a valid update modifier or pipeline-style update specified as an array", name)
		}
		if err := env.Cosmos.Check(cosmos.Update, name); err != nil {
			return nil, err
		}
		fields, ok := it.Value.Doc()
		if !ok {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"Modifiers operate on fields but we found type %s instead. For example: {$mod: {<field>: ...}} not {%s: %s}", it.Value.Type, name, it.Value)
		}
		if err := p.operator(op, fields); err != nil {
			return nil, err
		}
	}
	if err := p.unusedFilters(doc); err != nil {
		return nil, err
	}
	p.p.root.finish()
	return p.p, nil
}

func (p *parser) operator(op *Operator, fields bson.Raw) error {
	p.op = op
	for it := fields.Iter(); it.Next(); {
		at, err := parsePath(string(it.Name))
		if err != nil {
			return err
		}
		do, err := op.parse(p, at, it.Value)
		if err != nil {
			return err
		}
		if do == nil {
			continue
		}
		if err := p.insert(at, do); err != nil {
			return err
		}
	}
	return nil
}

// insert puts an action into the tree.
func (p *parser) insert(at *fieldPath, do action) error {
	for i := range at.steps {
		switch s := &at.steps[i]; s.kind {
		case positional:
			p.p.positional = true
		case filtered:
			if err := p.useFilter(s.name, at.text); err != nil {
				return err
			}
		}
	}
	p.p.ops = append(p.p.ops, operation{p.op, at})
	return p.p.root.insert(at, do, p.filterOf)
}

// IsReplacement reports whether the update is a replacement document.
func (p *Program) IsReplacement() bool { return p.replacement != nil }

// IsPipeline reports whether the update is a pipeline.
func (p *Program) IsPipeline() bool { return p.pipeline }

// NeedsPosition reports whether a path of the update has the positional operator $, so that Input.Position is
// required (see match.MatchPosition).
func (p *Program) NeedsPosition() bool { return p.positional }

// Paths calls add with each path that the update may change, up to the first of the components $, $[] and $[id]. A
// field does not change if its path neither begins with one of these paths nor is a prefix of one. whole reports that
// any field may change; then add is not called.
func (p *Program) Paths(add func(path.Path)) (whole bool) {
	if p.root == nil {
		return true
	}
	for i := range p.ops {
		add(p.ops[i].at.static())
	}
	return false
}
