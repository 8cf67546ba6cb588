package match

import (
	"slices"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// consider appends the value that was not accepted.
func consider(b *bson.Builder, v bson.Value) { b.Value("consideredValue", v) }

// typeRule is type and bsonType.
type typeRule struct {
	keyword
	set typeSet
}

func (r *typeRule) accepts(j *judge, v bson.Value) bool { return r.set.has(v.Type) }

func (r *typeRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	r.head(b, "type did not match")
	consider(b, v)
	b.String("consideredType", v.Type.String())
}

func (p *schemaParser) bsonType(v bson.Value) error {
	return p.types(v, func(set *typeSet, name string) error {
		return set.parse((&bson.Arena{}).String(name))
	})
}

// jsonType reads the keyword type, whose names of types are those of JSON ("boolean"), not those of BSON ("bool").
func (p *schemaParser) jsonType(v bson.Value) error {
	return p.types(v, func(set *typeSet, name string) error {
		switch name {
		case "array":
			set.add(bson.TypeArray)
		case "boolean":
			set.add(bson.TypeBool)
		case "null":
			set.add(bson.TypeNull)
		case "number":
			set.numbers = true
		case "object":
			set.add(bson.TypeDocument)
		case "string":
			set.add(bson.TypeString)
		default:
			return badValue("Unknown type name alias: %s", name)
		}
		return nil
	})
}

func (p *schemaParser) types(v bson.Value, parse func(*typeSet, string) error) error {
	r := &typeRule{keyword: p.keyword}
	var names []string
	switch v.Type {
	case bson.TypeString:
		s, _ := v.Str()
		names = append(names, s)
	case bson.TypeArray:
		var err error
		if names, err = p.strings(p.name, v); err != nil {
			return err
		}
	default:
		return p.wrongType(p.name, "either a string or an array of strings")
	}
	for _, name := range names {
		if name == "integer" {
			return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema type '%s' is not currently supported.", name)
		}
		if err := parse(&r.set, name); err != nil {
			return err
		}
	}
	return p.add(r)
}

// encryptRule requires a value that a client has encrypted.
type encryptRule struct{ keyword }

// encryptedSubtype is the binary subtype of encrypted values.
const encryptedSubtype = 6

func (r *encryptRule) accepts(j *judge, v bson.Value) bool {
	subtype, _, ok := v.Binary()
	return ok && subtype == encryptedSubtype
}

func (r *encryptRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", r.name)
	b.String("reason", "value was not encrypted")
}

func (p *schemaParser) encrypt(v bson.Value) error {
	d, err := p.object(p.name, v)
	if err != nil {
		return err
	}
	for name, e := range d.Fields() {
		switch string(name) {
		case "bsonType", "algorithm", "keyId":
		default:
			return mongoerr.UnknownField("encrypt." + string(name))
		}
		if string(name) == "algorithm" && e.Type != bson.TypeString {
			return mongoerr.WrongType("encrypt.algorithm", e.Type.String(), "string")
		}
	}
	return p.add(&encryptRule{p.keyword})
}

// encryptMetadata checks the form of the keyword encryptMetadata, which only clients with encryption use. It
// restricts no values.
func (p *schemaParser) encryptMetadata(v bson.Value) error {
	d, err := p.object(p.name, v)
	if err == nil && d.IsEmpty() {
		err = mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword 'encryptMetadata' cannot be an empty object")
	}
	return err
}

// enumRule requires one of a list of values.
type enumRule struct {
	keyword
	values []bson.Value // canonical and sorted
}

func (r *enumRule) accepts(j *judge, v bson.Value) bool {
	_, found := slices.BinarySearchFunc(r.values, canonical(v), func(a, b bson.Value) int { return bson.Compare(a, b, nil) })
	return found
}

func (r *enumRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	r.head(b, "value was not found in enum")
	consider(b, v)
}

func (p *schemaParser) enum(v bson.Value) error {
	arr, ok := v.Array()
	switch {
	case !ok:
		return p.wrongType(p.name, "an array")
	case arr.IsEmpty():
		return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword 'enum' cannot be an empty array")
	}
	r := &enumRule{keyword: p.keyword}
	for e := range arr.Values() {
		r.values = append(r.values, canonical(e))
	}
	slices.SortFunc(r.values, func(a, b bson.Value) int { return bson.Compare(a, b, nil) })
	for i := 1; i < len(r.values); i++ {
		if bson.Equal(r.values[i-1], r.values[i], nil) {
			return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword 'enum' array cannot contain duplicate values")
		}
	}
	return p.add(r)
}

// boundRule is minimum and maximum.
type boundRule struct {
	keyword
	exclusive bson.Value // of the modifying keyword; missing if there is none
	test      *comparison
}

func (r *boundRule) accepts(j *judge, v bson.Value) bool {
	if !v.IsNumber() {
		return true
	}
	ok, _ := r.test.holds(nil, v, nil)
	return ok
}

func (r *boundRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	b.String("operatorName", r.name)
	b.BeginDoc("specifiedAs")
	b.Value(r.name, r.arg)
	if r.name == "minimum" {
		b.Value("exclusiveMinimum", r.exclusive)
	} else {
		b.Value("exclusiveMaximum", r.exclusive)
	}
	b.End()
	b.String("reason", "comparison failed")
	consider(b, v)
}

func (p *schemaParser) bound(v bson.Value) error {
	if !v.IsNumber() {
		return p.wrongType(p.name, "a number")
	}
	r := &boundRule{keyword: p.keyword, exclusive: p.args["exclusiveMinimum"]}
	rel, strict := opGreaterEqual, opGreater
	if p.name == "maximum" {
		r.exclusive = p.args["exclusiveMaximum"]
		rel, strict = opLessEqual, opLess
	}
	if r.exclusive.Truthy() {
		rel = strict
	}
	r.test = newComparison(rel, v, rules{})
	return p.add(r)
}

// multipleRule represents the keyword multipleOf. It computes in decimal arithmetic, so that 0.3 is a multiple of
// 0.1.
type multipleRule struct {
	keyword
	of decimal.Decimal
}

func (r *multipleRule) accepts(j *judge, v bson.Value) bool {
	d, ok := decimal.FromValue(v)
	return !ok || decimal.Rem(d, r.of).IsZero()
}

func (r *multipleRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	r.head(b, "considered value is not a multiple of the specified value")
	consider(b, v)
}

func (p *schemaParser) multipleOf(v bson.Value) error {
	d, ok := decimal.FromValue(v)
	switch {
	case !ok:
		return p.wrongType(p.name, "a number")
	case d.IsNaN() || d.IsInf() || decimal.Cmp(d, decimal.FromInt64(0)) <= 0:
		return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword 'multipleOf' must have a positive value")
	}
	return p.add(&multipleRule{p.keyword, d})
}

// lengthRule is the minimal or maximal length of a string in characters, of an array in elements, or of a document
// in fields.
type lengthRule struct {
	keyword
	of     bson.Type
	atMost bool
	n      int64
}

func (r *lengthRule) length(v bson.Value) (n int64, ok bool) {
	if v.Type != r.of {
		return 0, false
	}
	if text, ok := v.Text(); ok {
		return int64(utf8.RuneCount(text)), true
	}
	return int64(bson.Raw(v.Data).Len()), true
}

func (r *lengthRule) accepts(j *judge, v bson.Value) bool {
	n, ok := r.length(v)
	return !ok || n == r.n || n < r.n == r.atMost
}

func (r *lengthRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	switch r.of {
	case bson.TypeString:
		r.head(b, "specified string length was not satisfied")
	case bson.TypeArray:
		r.head(b, "array did not match specified length")
	default:
		r.head(b, "specified number of properties was not satisfied")
		n, _ := r.length(v)
		b.Int("numberOfProperties", n)
		return
	}
	consider(b, v)
}

func (p *schemaParser) length(v bson.Value) error {
	n, err := p.count(v)
	if err != nil {
		return err
	}
	r := &lengthRule{keyword: p.keyword, of: bson.TypeString, atMost: p.name[:3] == "max", n: n}
	switch p.name[3:] {
	case "Items":
		r.of = bson.TypeArray
	case "Properties":
		r.of = bson.TypeDocument
	}
	return p.add(r)
}

// patternRule requires that a string matches a regular expression.
type patternRule struct {
	keyword
	re *mql.Regex
}

func (r *patternRule) accepts(j *judge, v bson.Value) bool {
	if v.Type != bson.TypeString {
		return true
	}
	text, _ := v.Text()
	return j.matches(r.re, text)
}

func (r *patternRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	r.head(b, "regular expression did not match")
	consider(b, v)
}

func (p *schemaParser) pattern(v bson.Value) error {
	s, ok := v.Str()
	if !ok || v.Type != bson.TypeString {
		return p.wrongType(p.name, "a string")
	}
	re, err := mql.CompileRegex(s, "")
	if err != nil {
		return err
	}
	return p.add(&patternRule{p.keyword, re})
}
