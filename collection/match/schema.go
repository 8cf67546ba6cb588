package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var opJSONSchema = Operator{Name: "$jsonSchema", Where: Top, Parse: parseJSONSchema, Since: "3.6", Doc: "reference/operator/query/jsonSchema"}

func parseJSONSchema(p *parser, a operand) (Node, error) {
	d, ok := a.value.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema must be an object")
	}
	root, err := p.schema(d)
	if err != nil {
		return nil, err
	}
	return &Schema{root, a.value}, nil
}

// Schema is the filter node of $jsonSchema: it matches a document that the JSON schema (draft 4 with bsonType)
// accepts.
type Schema struct {
	root   *schema
	source bson.Value
}

// Matches implements Node.
func (n *Schema) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	j := judge{env: env}
	ok := n.root.accepts(&j, doc.Value())
	return ok && j.err == nil, j.err
}

// Children implements Node.
func (n *Schema) Children() []Node { return nil }

// Append implements Node.
func (n *Schema) Append(b *bson.Builder) { b.Value("$jsonSchema", n.source) }

func (n *Schema) shape(dst []byte) []byte {
	return appendName(append(dst, "$jsonSchema "...), string(n.source.Data))
}

// judge holds the state of evaluating a JSON schema on one document. Once err is set, the rules only end quickly,
// and their results have no meaning.
type judge struct {
	env *mql.Env
	err error // the reason why the command must end
}

// mustStop reports whether the evaluation must end because the command must. It is called for each rule on each
// value, and for each pattern.
func (j *judge) mustStop() bool {
	if j.err == nil {
		j.err = j.env.Tick()
	}
	return j.err != nil
}

// spend is mustStop for work on a number of bytes.
func (j *judge) spend(bytes int) bool {
	if j.err == nil {
		j.err = j.env.Spend(bytes)
	}
	return j.err != nil
}

// matches tests a pattern.
func (j *judge) matches(re *mql.Regex, text []byte) bool {
	if j.mustStop() {
		return false
	}
	done, err := re.Begin(j.env, text)
	if err != nil {
		j.err = err
		return false
	}
	defer done()
	ok, err := re.MatchWithin(j.env, text)
	if err != nil {
		j.err = err
	}
	return ok
}

// schema is a parsed schema: rules that must all hold.
type schema struct {
	title, description bson.Value
	rules              []rule
}

// rule is a keyword of a JSON schema, together with the keywords that modify it.
type rule interface {
	// accepts reports whether v satisfies the keyword. A keyword applies to values of some types; values of other
	// types satisfy it.
	accepts(j *judge, v bson.Value) bool
	// explain appends the fields of the reason why the rule does not accept v, for Explain.
	explain(j *judge, b *bson.Builder, v bson.Value)
}

func (s *schema) accepts(j *judge, v bson.Value) bool {
	for _, r := range s.rules {
		if j.mustStop() || !r.accepts(j, v) {
			return false
		}
	}
	return true
}

// explain appends, as the array name, the reasons of the rules of the schema that do not accept v.
func (s *schema) explain(j *judge, b *bson.Builder, name string, v bson.Value) {
	b.BeginArray(name)
	for _, r := range s.rules {
		if !r.accepts(j, v) {
			b.BeginDoc("")
			r.explain(j, b, v)
			b.End()
		}
	}
	b.End()
}

// annotate appends title and description.
func (s *schema) annotate(b *bson.Builder) {
	b.Value("title", s.title)
	b.Value("description", s.description)
}

// keyword holds the name and the argument of a rule, with which most explanations begin.
type keyword struct {
	name string
	arg  bson.Value
}

func (k keyword) head(b *bson.Builder, reason string) {
	b.String("operatorName", k.name)
	b.BeginDoc("specifiedAs")
	b.Value(k.name, k.arg)
	b.End()
	b.String("reason", reason)
}
