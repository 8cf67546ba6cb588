package mql

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// ParseCollation reads a collation document. The result is nil for locale "simple" and for a null or missing value;
// a caller that must distinguish "simple" (which overrides a collection's default) from absence tests for absence
// first. A locale of MongoDB whose order is not supported is an error, because a client would not notice results in
// a wrong order. Manual: reference/collation.
//
// Errors: TypeMismatch, BadValue, IDLFailedToParse (no locale), IDLUnknownField, IncompatibleCollationVersion.
func ParseCollation(v bson.Value) (*Collation, error) {
	return parseCollation(v, NewestCollator, false)
}

// ParseStoredCollation reads a collation from the catalog as ParseCollation does. by is the version of the rules by
// which its stored keys were made. All locales are accepted that an earlier version accepted.
func ParseStoredCollation(v bson.Value, by CollatorVersion) (*Collation, error) {
	return parseCollation(v, by, true)
}

func parseCollation(v bson.Value, by CollatorVersion, kept bool) (*Collation, error) {
	if v.IsNullish() {
		return nil, nil
	}
	doc, ok := v.Doc()
	if !ok {
		return nil, mongoerr.WrongType("collation", v.Type.String(), "object")
	}
	p := collationParser{stored: kept, spec: collationSpec{
		version: by, strength: 3, caseFirst: "off", alternate: "non-ignorable", maxVariable: "punct",
	}}
	for it := doc.Iter(); it.Next(); {
		if err := p.field(string(it.Name), it.Value); err != nil {
			return nil, err
		}
	}
	return p.finish()
}

type collationParser struct {
	spec   collationSpec
	stored bool // see ParseStoredCollation
	// hasLocale, hasCaseFirst, hasAlternate and hasBackwards report which options the document sets: an option that
	// is not set has the locale's default.
	hasLocale, hasCaseFirst, hasAlternate, hasBackwards bool
}

func (p *collationParser) field(name string, v bson.Value) (err error) {
	s := &p.spec
	switch name {
	case "locale":
		p.hasLocale = true
		if v.Type != bson.TypeString {
			return mongoerr.WrongType("collation.locale", v.Type.String(), "string")
		}
		s.locale, _ = v.Str()
	case "strength":
		return p.strength(v)
	case "caseLevel":
		_, err = flag(&s.caseLevel, "collation.caseLevel", v)
	case "caseFirst":
		p.hasCaseFirst, err = enum(&s.caseFirst, "collation.caseFirst", v, "upper", "lower", "off")
	case "numericOrdering":
		_, err = flag(&s.numericOrdering, "collation.numericOrdering", v)
	case "alternate":
		p.hasAlternate, err = enum(&s.alternate, "collation.alternate", v, "non-ignorable", "shifted")
	case "maxVariable":
		_, err = enum(&s.maxVariable, "collation.maxVariable", v, "punct", "space")
	case "normalization":
		_, err = flag(&s.normalization, "collation.normalization", v)
	case "backwards":
		if v.Type == bson.TypeNull { // the only flag that does not treat null as absent
			return mongoerr.WrongType("collation.backwards", "null", "bool")
		}
		p.hasBackwards, err = flag(&s.backwards, "collation.backwards", v)
	case "version":
		if v.IsNullish() {
			return nil
		}
		got, ok := v.Str()
		if !ok || v.Type != bson.TypeString {
			return mongoerr.WrongType("collation.version", v.Type.String(), "string")
		}
		if got != CollationVersion {
			return mongoerr.New(mongoerr.IncompatibleCollationVersion,
				"Requested collation version %s but the only available collator version was %s", got, CollationVersion)
		}
	default:
		return mongoerr.UnknownField("collation." + name)
	}
	return err
}

func (p *collationParser) strength(v bson.Value) error {
	if v.IsNullish() {
		return nil
	}
	if !v.IsNumber() {
		return mongoerr.WrongType("collation.strength", v.Type.String(), "int", "decimal", "double", "long")
	}
	n, _ := v.TruncInt64()
	if v.Type == bson.TypeDecimal128 { // decimals are rounded, doubles are truncated
		if f, _ := v.AsFloat(); !math.IsNaN(f) && math.Abs(f) < 1<<31 {
			n = int64(math.RoundToEven(f))
		}
	}
	if n < 1 || n > 5 {
		return mongoerr.New(mongoerr.BadValue,
			"Enumeration value '%d' for field 'collation.strength' is not a valid value.", n)
	}
	p.spec.strength = int32(n)
	return nil
}

// finish applies the locale's defaults and the rules between options.
func (p *collationParser) finish() (*Collation, error) {
	s := &p.spec
	if !p.hasLocale {
		return nil, mongoerr.MissingField("collation.locale")
	}
	if s.locale == "simple" {
		return nil, nil
	}
	l, known, here := languageOf(s.locale)
	newest := l
	switch {
	case s.version == FirstCollator:
		l, known = firstLanguageOf(s.locale)
	case s.version == SecondCollator && known:
		l = l.withoutTable()
	}
	switch {
	case !known:
		return nil, mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: collation with locale '%s'", s.locale)
	case !here && !p.stored:
		return nil, mongoerr.New(mongoerr.BadValue, "The collation of locale '%s' is not supported, as strings would come in another order than its own; "+
			"use one of %s, or sort in the application", s.locale, supportedLocales())
	}
	if !p.hasCaseFirst && l.upperFirst {
		s.caseFirst = "upper"
	}
	if !p.hasAlternate && l.shifted {
		s.alternate = "shifted"
	}
	if !p.hasBackwards && l.backwards {
		s.backwards = true
	}
	if s.strength < 3 && !s.caseLevel && p.hasCaseFirst && s.caseFirst != "off" {
		return nil, mongoerr.New(mongoerr.BadValue,
			"'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2")
	}
	if p.hasBackwards && s.backwards && s.strength == 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "'backwards' is invalid with 'strength' of 1")
	}
	if here && *l == *newest && !(s.version == FirstCollator && s.caseLevel && s.caseFirst == "upper") {
		s.version = NewestCollator // the order is the same, so commands may use the stored keys
	}
	return &Collation{spec: *s, lang: l}, nil
}

// flag reads a boolean option. null means absent.
func flag(dst *bool, field string, v bson.Value) (set bool, err error) {
	if v.IsNullish() {
		return false, nil
	}
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(field, v.Type.String(), "bool")
	}
	*dst = b
	return true, nil
}

// enum reads the option field, a string of the allowed ones, into dst. set is false for null, which means absent.
func enum(dst *string, field string, v bson.Value, allowed ...string) (set bool, err error) {
	if v.IsNullish() {
		return false, nil
	}
	if v.Type != bson.TypeString {
		return false, mongoerr.WrongType(field, v.Type.String(), "string")
	}
	got, _ := v.Str()
	for _, a := range allowed {
		if got == a {
			*dst = a
			return true, nil
		}
	}
	return false, mongoerr.BadEnum(field, got)
}
