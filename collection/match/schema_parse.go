package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// schemaParser reads one schema.
type schemaParser struct {
	*parser
	keyword // the keyword being read
	args    map[string]bson.Value
	out     *schema
	known   []property // of the keyword properties
}

// schemaKeyword is a row of the table of schema keywords; parse is nil for keywords that are read together with
// another one.
type schemaKeyword struct {
	name  string
	parse func(*schemaParser, bson.Value) error
}

// schemaKeywords are read in this order, which is visible in explanations.
var schemaKeywords = []schemaKeyword{
	{"allOf", (*schemaParser).combination},
	{"anyOf", (*schemaParser).combination},
	{"oneOf", (*schemaParser).combination},
	{"not", (*schemaParser).not},
	{"enum", (*schemaParser).enum},
	{"type", (*schemaParser).jsonType},
	{"bsonType", (*schemaParser).bsonType},
	{"encrypt", (*schemaParser).encrypt},
	{"encryptMetadata", (*schemaParser).encryptMetadata},
	{"maximum", (*schemaParser).bound},
	{"minimum", (*schemaParser).bound},
	{"multipleOf", (*schemaParser).multipleOf},
	{"maxLength", (*schemaParser).length},
	{"minLength", (*schemaParser).length},
	{"pattern", (*schemaParser).pattern},
	{"items", (*schemaParser).items},
	{"maxItems", (*schemaParser).length},
	{"minItems", (*schemaParser).length},
	{"uniqueItems", (*schemaParser).uniqueItems},
	{"required", (*schemaParser).required},
	{"properties", (*schemaParser).properties},
	{"dependencies", (*schemaParser).dependencies},
	{"maxProperties", (*schemaParser).length},
	{"minProperties", (*schemaParser).length},
	{"title", (*schemaParser).annotation},
	{"description", (*schemaParser).annotation},
	{"additionalItems", nil},
	{"additionalProperties", nil},
	{"exclusiveMaximum", nil},
	{"exclusiveMinimum", nil},
	{"patternProperties", nil},
}

// unsupportedKeywords are the keywords of JSON schema draft 4 that MongoDB rejects by name.
var unsupportedKeywords = []string{"$ref", "$schema", "default", "definitions", "format", "id"}

// schema reads a JSON schema, the argument of $jsonSchema or a schema inside it.
//
// Errors: 9 FailedToParse for unknown keywords and bad values, 14 for values of wrong types, 2 for unknown types, too
// deep nesting and bad patterns of patternProperties, 51091 for other bad patterns, 40415 for unknown fields of
// encrypt.
func (p *parser) schema(d bson.Raw) (*schema, error) {
	if p.depth++; p.depth > depthMax {
		return nil, badValue("exceeded maximum schema depth of %d", depthMax)
	}
	defer func() { p.depth-- }()
	sp := &schemaParser{parser: p, args: map[string]bson.Value{}, out: &schema{}}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		if slices.Contains(unsupportedKeywords, name) {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' is not currently supported", name)
		}
		if !slices.ContainsFunc(p.keywords, func(k schemaKeyword) bool { return k.name == name }) {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unknown $jsonSchema keyword: %s", name)
		}
		if _, ok := sp.args[name]; ok {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Duplicate $jsonSchema keyword: %s", name)
		}
		sp.args[name] = it.Value
	}
	if err := sp.exclusions(); err != nil {
		return nil, err
	}
	for _, k := range p.keywords {
		v, ok := sp.args[k.name]
		if !ok || k.parse == nil {
			continue
		}
		sp.keyword = keyword{k.name, v}
		if err := k.parse(sp, v); err != nil {
			return nil, err
		}
	}
	if _, ok := sp.args["items"]; !ok {
		if _, _, err := sp.additional("additionalItems"); err != nil {
			return nil, err
		}
	}
	if err := sp.objectKeywords(); err != nil {
		return nil, err
	}
	return sp.out, nil
}

// exclusions rejects keywords that exclude each other.
func (p *schemaParser) exclusions() error {
	has := func(name string) bool { _, ok := p.args[name]; return ok }
	pairs := [...][2]string{
		{"type", "bsonType"}, {"encrypt", "type"}, {"encrypt", "bsonType"}, {"encrypt", "encryptMetadata"},
	}
	for _, x := range pairs {
		if has(x[0]) && has(x[1]) {
			return mongoerr.New(mongoerr.FailedToParse, "Cannot specify both $jsonSchema keywords '%s' and '%s'", x[0], x[1])
		}
	}
	for _, x := range [...][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		v, ok := p.args[x[0]]
		if !ok {
			continue
		}
		if v.Type != bson.TypeBool {
			return p.wrongType(x[0], "a boolean")
		}
		if !has(x[1]) {
			return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' must be a present if '%s' is present", x[1], x[0])
		}
	}
	return nil
}

func (p *schemaParser) wrongType(keyword, want string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema keyword '%s' must be %s", keyword, want)
}

func (p *schemaParser) add(r rule) error {
	p.out.rules = append(p.out.rules, r)
	return nil
}

func (p *schemaParser) annotation(v bson.Value) error {
	if v.Type != bson.TypeString {
		return p.wrongType(p.name, "of type string")
	}
	if p.name == "title" {
		p.out.title = v
	} else {
		p.out.description = v
	}
	return nil
}

// object returns the argument v of the keyword name as a document. Errors: 14 TypeMismatch if v is no document.
func (p *schemaParser) object(name string, v bson.Value) (bson.Raw, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, p.wrongType(name, "an object")
	}
	return d, nil
}

// sub reads a schema inside of a keyword.
func (p *schemaParser) sub(name string, v bson.Value) (*schema, error) {
	d, err := p.object(name, v)
	if err != nil {
		return nil, err
	}
	return p.schema(d)
}

// strings reads a non-empty array of distinct strings.
func (p *schemaParser) strings(name string, v bson.Value) ([]string, error) {
	arr, ok := v.Array()
	switch {
	case !ok:
		return nil, p.wrongType(name, "an array")
	case arr.IsEmpty():
		return nil, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' cannot be an empty array", name)
	}
	var list []string
	for e := range arr.Values() {
		s, ok := e.Str()
		switch {
		case !ok || e.Type != bson.TypeString:
			return nil, mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema keyword '%s' must be an array of strings, but found an element of type: '%s'", name, e.Type)
		case slices.Contains(list, s):
			return nil, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' array cannot contain duplicate values", name)
		}
		list = append(list, s)
	}
	return list, nil
}

// count reads a non-negative integer.
func (p *schemaParser) count(v bson.Value) (int64, error) {
	n, ok := v.AsInt64()
	switch {
	case !v.IsNumber():
		return 0, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' must be a number, found %s", p.name, v.Type)
	case !ok || n < 0:
		return 0, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' must be a non-negative integer", p.name)
	}
	return n, nil
}
