package order

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// partsMax is the largest number of fields of a sort pattern.
// Manual: reference/limits#mongodb-limit-Maximum-Number-of-Sort-Keys.
const partsMax = 32

// Parse parses a sort pattern; an empty document is the empty pattern.
//
// Errors: 15974 and 15975 for a direction that is no number or not 1 or -1, 17312 for an object other than $meta, 31138
// for unknown metadata, FailedToParse for fields beside $meta, 40352, 40353, 15998 and 16410 for malformed paths,
// Overflow for too long ones, 7472500 for a field named twice, 13103 for too many fields; those of Cosmos.Check for
// $meta.
func Parse(env *mql.Env, spec bson.Raw) (Pattern, error) {
	var p Pattern
	fields := 0
	for it := spec.Iter(); it.Next(); {
		part, err := parsePart(string(it.Name), it.Value)
		if mongoerr.CodeOf(err) == codeDollar && env.Strict() {
			part, err = literalPart(string(it.Name), it.Value)
		}
		if err != nil {
			return Pattern{}, err
		}
		if part.Meta != "" {
			if err := env.Cosmos.Check(cosmos.Projection, "$meta"); err != nil {
				return Pattern{}, err
			}
			env.NoteMeta(part.Meta)
		} else {
			for i := range p.Parts {
				if p.Parts[i].Meta == "" && p.Parts[i].Name == part.Name {
					return Pattern{}, mongoerr.New(7472500,
						"$sort key must not contain duplicate keys (duplicate: '%s')", part.Name)
				}
			}
			if fields++; fields > partsMax {
				return Pattern{}, mongoerr.New(13103, "too many compound keys")
			}
			p.paths = append(p.paths, part.Path)
		}
		p.Parts = append(p.Parts, part)
		if len(p.Parts) > 2*partsMax {
			return Pattern{}, mongoerr.New(13103, "too many compound keys")
		}
	}
	return p, nil
}

// codeDollar is the error code for a sort by a name that begins with a dollar sign.
const codeDollar = 16410

// literalPart returns a sort by a field whose name begins with a dollar sign, which few documents have: Azure Cosmos
// DB accepts {$sort: {$a: 1}}, and its results are in no order. Source:
// Azure-Samples/cosmos-db-mongodb-api-javascript-samples, 280-aggregation.
func literalPart(name string, v bson.Value) (Part, error) {
	dir, err := direction(v)
	if err != nil {
		return Part{}, err
	}
	p, err := path.Compile(name)
	return Part{Path: p, Dir: dir, Name: name}, err
}

func parsePart(name string, v bson.Value) (Part, error) {
	if v.Type == bson.TypeDocument {
		return parseMeta(name, bson.Raw(v.Data))
	}
	dir, err := direction(v)
	if err != nil {
		return Part{}, err
	}
	p, err := CheckedPath(name)
	return Part{Path: p, Dir: dir, Name: name}, err
}

// direction reads the direction of a sort, 1 or -1 of any numeric type; doubles are truncated, decimals rounded.
func direction(v bson.Value) (keystring.Dir, error) {
	f, ok := v.AsFloat()
	if !ok {
		return 0, mongoerr.New(15974, "Illegal key in $sort specification: value must be a number or a $meta object, not %s", v.Type)
	}
	if v.Type == bson.TypeDecimal128 {
		f = math.RoundToEven(f)
	} else {
		f = math.Trunc(f)
	}
	switch f {
	case 1:
		return keystring.Ascending, nil
	case -1:
		return keystring.Descending, nil
	}
	return 0, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
}

func parseMeta(name string, d bson.Raw) (Part, error) {
	f, ok := d.First()
	switch {
	case !ok || string(f.Name) != "$meta":
		return Part{}, mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
	case d.Len() != 1:
		return Part{}, mongoerr.New(mongoerr.FailedToParse, "Cannot have additional keys in a $meta sort specification")
	}
	meta, _ := f.Value.Str()
	dir := keystring.Descending // the best score first, and the greatest distance. Observed: mongod 8.2
	if f.Value.Type != bson.TypeString {
		meta = ""
	}
	switch meta {
	case "textScore", "randVal", "geoNearDistance", "searchScore", "vectorSearchScore", "score":
		return Part{Dir: dir, Name: name, Meta: meta}, nil
	}
	return Part{}, mongoerr.New(31138, "Illegal $meta sort: $meta: %s", meta)
}

// CheckedPath compiles a dotted path, with the checks that MongoDB makes for the paths of aggregation (FieldPath).
//
// Errors: 40352 (empty), 40353 (ends with a dot), 15998 (empty component), 16410 (component with a dollar sign),
// 16411 (zero byte), Overflow.
func CheckedPath(s string) (path.Path, error) {
	switch {
	case s == "":
		return path.Path{}, mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
	case s[len(s)-1] == '.':
		return path.Path{}, mongoerr.New(40353, "FieldPath must not end with a '.'.")
	case strings.Count(s, ".") >= bson.MaxDepth:
		return path.Path{}, mongoerr.New(mongoerr.Overflow, "FieldPath is too long")
	}
	p, err := path.Compile(s)
	if err != nil {
		return path.Path{}, mongoerr.New(16411, "FieldPath field names may not contain '\\0'.")
	}
	for i := range p.Len() {
		switch name := p.Name(i); {
		case name == "":
			return path.Path{}, mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		case name[0] == '$' && !bson.IsDBRefField(name):
			return path.Path{}, mongoerr.New(codeDollar, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		}
	}
	return p, nil
}
