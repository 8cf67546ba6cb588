package match

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// requiredRule is required.
type requiredRule struct {
	keyword
	names []string
}

func (r *requiredRule) accepts(j *judge, v bson.Value) bool { return len(missing(j, v, r.names)) == 0 }

// missing returns those of the names that the document v lacks; none if v is no document.
func missing(j *judge, v bson.Value, names []string) []string {
	d, ok := v.Doc()
	if !ok {
		return nil
	}
	var out []string
	for _, name := range names {
		if j.spend(len(d)) {
			break
		}
		if _, ok := propertyAt(d, name); !ok {
			out = append(out, name)
		}
	}
	return out
}

// propertyAt returns the value of a property. A name with dots is a path through documents, as in MongoDB.
func propertyAt(d bson.Raw, name string) (v bson.Value, ok bool) {
	for {
		field, rest, dotted := strings.Cut(name, ".")
		if v, ok = d.Lookup(field); !ok || !dotted {
			return v, ok
		}
		if d, ok = v.Doc(); !ok {
			return bson.Value{}, false
		}
		name = rest
	}
}

func (r *requiredRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", "required")
	b.BeginDoc("specifiedAs")
	b.Value("required", r.arg)
	b.End()
	appendStrings(b, "missingProperties", missing(j, v, r.names))
}

func appendStrings(b *bson.Builder, name string, list []string) {
	b.BeginArray(name)
	for _, s := range list {
		b.String("", s)
	}
	b.End()
}

func (p *schemaParser) required(v bson.Value) error {
	names, err := p.strings(p.name, v)
	if err != nil {
		return err
	}
	return p.add(&requiredRule{p.keyword, names})
}

// property is the schema of a field's value, with the field's name or a pattern of names.
type property struct {
	name string
	re   *mql.Regex
	s    *schema
}

// propertiesRule is properties.
type propertiesRule struct{ list []property }

func (r *propertiesRule) accepts(j *judge, v bson.Value) bool {
	d, ok := v.Doc()
	if !ok {
		return true
	}
	for i := range r.list {
		if j.spend(len(d)) {
			return false
		}
		if e, ok := propertyAt(d, r.list[i].name); ok && !r.list[i].s.accepts(j, e) {
			return false
		}
	}
	return true
}

func (r *propertiesRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	d, _ := v.Doc()
	b.String("operatorName", "properties")
	b.BeginArray("propertiesNotSatisfied")
	for _, p := range r.list {
		if j.spend(len(d)) {
			break
		}
		if e, ok := propertyAt(d, p.name); ok && !p.s.accepts(j, e) {
			b.BeginDoc("")
			b.String("propertyName", p.name)
			p.s.annotate(b)
			p.s.explain(j, b, "details", e)
			b.End()
		}
	}
	b.End()
}

func (p *schemaParser) properties(v bson.Value) error {
	d, err := p.object(p.name, v)
	if err != nil {
		return err
	}
	r := &propertiesRule{}
	for name, e := range d.Fields() {
		s, err := p.sub("properties", e)
		if err != nil {
			return err
		}
		r.list = append(r.list, property{name: string(name), s: s})
	}
	p.known = r.list
	return p.add(r)
}

// othersRule represents the keywords patternProperties and additionalProperties: the schemas of fields whose names
// match a pattern, and of fields whose names match none and are not in properties.
type othersRule struct {
	known    []property
	patterns []property
	// rest is the schema of fields whose names are not known and match no pattern; nil allows anything. If closed is
	// set, there may be no such field.
	rest   *schema
	closed bool
}

func (r *othersRule) isKnown(name []byte) bool {
	return slices.ContainsFunc(r.known, func(p property) bool { return p.name == string(name) })
}

// objections calls add for every field of the document v that is not accepted, until add returns false. p is the
// pattern that the field's name matches and whose schema rejects it; nil if no pattern matches and the rule for the
// rest rejects it.
func (r *othersRule) objections(j *judge, v bson.Value, add func(name []byte, e bson.Value, p *property) bool) {
	d, ok := v.Doc()
	if !ok {
		return
	}
	for it := d.Iter(); it.Next(); {
		fits := false
		if j.spend(64 * len(r.known)) {
			return
		}
		for i := range r.patterns {
			p := &r.patterns[i]
			if !j.matches(p.re, it.Name) {
				continue
			}
			fits = true
			if !p.s.accepts(j, it.Value) && !add(it.Name, it.Value, p) {
				return
			}
		}
		if fits || !r.closed && r.rest == nil || r.isKnown(it.Name) {
			continue
		}
		if (r.closed || !r.rest.accepts(j, it.Value)) && !add(it.Name, it.Value, nil) {
			return
		}
	}
}

func (r *othersRule) accepts(j *judge, v bson.Value) bool {
	ok := true
	r.objections(j, v, func([]byte, bson.Value, *property) bool { ok = false; return false })
	return ok
}

func (r *othersRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	m := b.Mark()
	n := 0
	b.String("operatorName", "patternProperties")
	b.BeginArray("details")
	r.objections(j, v, func(name []byte, e bson.Value, p *property) bool {
		if p != nil {
			n++
			b.BeginDoc("")
			b.StringBytes("propertyName", name)
			p.s.annotate(b)
			b.String("regexMatched", p.name)
			p.s.explain(j, b, "details", e)
			b.End()
		}
		return true
	})
	b.End()
	if n > 0 {
		return
	}
	b.Cut(m)
	r.explainRest(j, b, v)
}

// explainRest is explain if no pattern rejects a field.
func (r *othersRule) explainRest(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", "additionalProperties")
	if !r.closed {
		b.String("reason", "at least one additional property did not match the subschema")
		r.objections(j, v, func(name []byte, e bson.Value, _ *property) bool {
			b.StringBytes("failingProperty", name)
			r.rest.explain(j, b, "details", e)
			return false
		})
		return
	}
	b.BeginDoc("specifiedAs")
	b.Bool("additionalProperties", false)
	b.End()
	b.BeginArray("additionalProperties")
	r.objections(j, v, func(name []byte, _ bson.Value, _ *property) bool {
		b.StringBytes("", name)
		return true
	})
	b.End()
}

// objectKeywords reads patternProperties and additionalProperties, whose meaning depends on properties. It is called
// once for every schema, as properties may be absent.
func (p *schemaParser) objectKeywords() (err error) {
	r := &othersRule{known: p.known}
	if v, ok := p.args["patternProperties"]; ok {
		d, err := p.object("patternProperties", v)
		if err != nil {
			return err
		}
		for name, e := range d.Fields() {
			sub, err := p.sub("patternProperties", e)
			if err != nil {
				return err
			}
			re, err := mql.CompileRegex(string(name), "")
			if err != nil {
				return badValue("Invalid regular expression in patternProperties: %s", name)
			}
			r.patterns = append(r.patterns, property{string(name), re, sub})
		}
	}
	if r.rest, r.closed, err = p.additional("additionalProperties"); err != nil {
		return err
	}
	if r.patterns != nil || r.rest != nil || r.closed {
		return p.add(r)
	}
	return nil
}

// additional reads additionalProperties or additionalItems, a boolean or a schema for the values that other keywords
// do not cover. closed is true for false, which allows no such value.
func (p *schemaParser) additional(name string) (rest *schema, closed bool, err error) {
	v, ok := p.args[name]
	if !ok {
		return nil, false, nil
	}
	switch v.Type {
	case bson.TypeBool:
		return nil, !v.Truthy(), nil
	case bson.TypeDocument:
		rest, err = p.schema(bson.Raw(v.Data))
		return rest, false, err
	}
	return nil, false, p.wrongType(name, "either an object or a boolean")
}

// dependency is one field of the keyword dependencies: if a document has the field, it must have the fields names,
// or satisfy the schema s.
type dependency struct {
	name  string
	names []string
	s     *schema
}

func (d *dependency) accepts(j *judge, v bson.Value) bool {
	doc, _ := v.Doc()
	if _, ok := doc.Lookup(d.name); !ok {
		return true
	}
	if d.s != nil {
		return d.s.accepts(j, v)
	}
	return len(missing(j, v, d.names)) == 0
}

// dependenciesRule is dependencies.
type dependenciesRule struct{ list []dependency }

func (r *dependenciesRule) accepts(j *judge, v bson.Value) bool {
	if v.Type != bson.TypeDocument {
		return true
	}
	for i := range r.list {
		if !r.list[i].accepts(j, v) {
			return false
		}
	}
	return true
}

func (r *dependenciesRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", "dependencies")
	b.BeginArray("failingDependencies")
	for i := range r.list {
		d := &r.list[i]
		if d.accepts(j, v) {
			continue
		}
		b.BeginDoc("")
		b.String("conditionalProperty", d.name)
		if d.s != nil {
			d.s.explain(j, b, "details", v)
		} else {
			appendStrings(b, "missingProperties", missing(j, v, d.names))
		}
		b.End()
	}
	b.End()
}

func (p *schemaParser) dependencies(v bson.Value) error {
	d, err := p.object(p.name, v)
	if err != nil {
		return err
	}
	r := &dependenciesRule{}
	for name, e := range d.Fields() {
		dep := dependency{name: string(name)}
		switch e.Type {
		case bson.TypeDocument:
			dep.s, err = p.schema(bson.Raw(e.Data))
		case bson.TypeArray:
			dep.names, err = p.strings("dependencies", e)
		default:
			err = mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema keyword 'dependencies' must be an object whose values are objects or arrays")
		}
		if err != nil {
			return err
		}
		r.list = append(r.list, dep)
	}
	return p.add(r)
}
