package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// combinationRule is allOf, anyOf and oneOf.
type combinationRule struct {
	keyword
	list []*schema
}

func (r *combinationRule) accepts(j *judge, v bson.Value) bool {
	n := 0
	for _, s := range r.list {
		if s.accepts(j, v) {
			n++
			if r.name == "anyOf" {
				return true
			}
		} else if r.name == "allOf" {
			return false
		}
	}
	return r.name == "allOf" || r.name == "oneOf" && n == 1
}

func (r *combinationRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", r.name)
	var matching []int
	for i, s := range r.list {
		if s.accepts(j, v) {
			matching = append(matching, i)
		}
	}
	if r.name == "oneOf" && len(matching) > 1 {
		b.String("reason", "more than one subschema matched")
		b.BeginArray("matchingSchemaIndexes")
		for _, i := range matching {
			b.Int32("", int32(i))
		}
		b.End()
		return
	}
	b.BeginArray("schemasNotSatisfied")
	for i, s := range r.list {
		if !s.accepts(j, v) {
			b.BeginDoc("")
			b.Int32("index", int32(i))
			s.annotate(b)
			s.explain(j, b, "details", v)
			b.End()
		}
	}
	b.End()
}

func (p *schemaParser) combination(v bson.Value) error {
	arr, ok := v.Array()
	switch {
	case !ok:
		return p.wrongType(p.name, "an array")
	case arr.IsEmpty():
		return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' must be a non-empty array", p.name)
	}
	r := &combinationRule{keyword: p.keyword}
	for e := range arr.Values() {
		s, err := p.sub(r.name, e)
		if err != nil {
			return err
		}
		r.list = append(r.list, s)
	}
	return p.add(r)
}

// notRule is not.
type notRule struct{ s *schema }

func (r *notRule) accepts(j *judge, v bson.Value) bool { return !r.s.accepts(j, v) }

func (r *notRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", "not")
	b.String("reason", "child expression matched")
}

func (p *schemaParser) not(v bson.Value) error {
	s, err := p.sub("not", v)
	if err != nil {
		return err
	}
	return p.add(&notRule{s})
}
