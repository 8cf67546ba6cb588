package schema

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// encryptedFieldsArg checks the argument encryptedFields of create: the fields of a collection that clients encrypt.
// Queries on encrypted fields require tags of their values in the server, which this server does not store, so they
// are refused; fields without queries are stored like other fields. Manual: core/queryable-encryption.
// Errors: TypeMismatch (14), IDLFailedToParse (40414), IDLUnknownField (40415), errors of encryptedField,
// NotImplemented (238) for a valid field with queries.
func encryptedFieldsArg(c *command.Call, name string, v bson.Value) (bson.Raw, error) {
	d, err := c.DocArg(name, v)
	if err != nil || v.IsMissing() {
		return nil, err
	}
	var fields []bson.Raw
	err = c.ReadFields(name, d,
		arguments.String("escCollection", nil),
		arguments.String("eccCollection", nil),
		arguments.String("ecocCollection", nil),
		arguments.Long("strEncodeVersion", nil),
		arguments.By("fields", func(v bson.Value) (err error) {
			fields, err = c.DocArray(name+".fields", withoutNullElements(v), math.MaxInt32)
			return err
		}).Required(),
	)
	if err != nil {
		return nil, err
	}
	var paths, keys []string
	queried := false
	for _, f := range fields {
		e, err := encryptedField(c, name+".fields", f)
		if err != nil {
			return nil, err
		}
		for i, p := range paths {
			switch {
			case p == e.path:
				return nil, mongoerr.New(6338402, "The path '%s' is encrypted twice", p)
			case keys[i] == e.key:
				return nil, mongoerr.New(6338401, "Two encrypted fields have the same key")
			case strings.HasPrefix(p, e.path+".") || strings.HasPrefix(e.path, p+"."):
				return nil, mongoerr.New(6338403, "The encrypted path '%s' conflicts with '%s'", e.path, p)
			}
		}
		paths, keys = append(paths, e.path), append(keys, e.key)
		queried = queried || e.queries > 0
	}
	if queried {
		return nil, mongoerr.NotImplementedYet("queries of encrypted fields")
	}
	return d.Clone(), nil
}

// withoutNullElements returns an array without the elements that are null, which count as absent; another value as it is.
// Observed: MongoDB 8.2.
func withoutNullElements(v bson.Value) bson.Value {
	a, ok := v.Array()
	if !ok {
		return v
	}
	b := bson.NewBuilder(nil)
	b.BeginArray("")
	for x := range a.Values() {
		if !x.IsNullish() {
			b.Value("", x)
		}
	}
	b.End()
	return b.Doc().Get("")
}

// encrypted is a field that clients encrypt.
type encrypted struct {
	path, key, kind string
	queries         int
}

// encryptedField reads one of the fields. Errors: TypeMismatch (14), IDLFailedToParse (40414), IDLUnknownField
// (40415), 6316402, 6316403, 6338406, errors of encryptedQueries, check and checkCombined.
func encryptedField(c *command.Call, at string, d bson.Raw) (e encrypted, err error) {
	var queries []encryptedQuery
	var key bson.Value
	err = c.ReadFields(at, d,
		arguments.By("keyId", func(v bson.Value) error {
			if sub, _, ok := v.Binary(); ok && sub != 4 {
				return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong binData type, expected type 'UUID'", c.Field(at+".keyId"))
			}
			key = v
			return c.CheckUUIDArg(at+".keyId", v)
		}).Required(),
		arguments.String("path", &e.path).Required(),
		arguments.String("bsonType", &e.kind),
		arguments.By("queries", func(v bson.Value) (err error) {
			queries, err = encryptedQueries(c, at+".queries", v)
			return err
		}).WithNull(),
	)
	e.queries = len(queries)
	_, data, _ := key.Binary()
	e.key = string(data)
	switch {
	case err != nil:
		return e, err
	case e.path == "":
		return e, mongoerr.New(6316402, "The path of an encrypted field cannot be empty")
	case e.path == "_id" || strings.HasPrefix(e.path, "_id."):
		return e, mongoerr.New(6316403, "The field _id cannot be encrypted")
	}
	switch e.kind {
	case "", "double", "string", "object", "array", "binData", "objectId", "bool", "date", "regex", "javascript", "int", "timestamp",
		"long", "decimal", "dbPointer", "symbol", "javascriptWithScope":
	default:
		return e, mongoerr.New(6338406, "A field of the type '%s' cannot be encrypted", e.kind)
	}
	for i := range queries {
		if err := queries[i].check(e.kind); err != nil {
			return e, err
		}
	}
	return e, checkCombined(queries)
}

// checkCombined refuses types of queries of one encrypted field that cannot be combined: only queries by prefix and
// by suffix can.
func checkCombined(queries []encryptedQuery) error {
	switch {
	case len(queries) > 2:
		return mongoerr.New(9783413, "An encrypted field has two types of queries at most")
	case len(queries) == 2 && (queries[0].kind+queries[1].kind != "prefixPreviewsuffixPreview" && queries[0].kind+queries[1].kind != "suffixPreviewprefixPreview"):
		return mongoerr.New(9783414, "Only queries by prefix and by suffix go together, not %s and %s", queries[0].kind, queries[1].kind)
	}
	return nil
}

// encryptedQuery is a type of query that an encrypted field allows.
type encryptedQuery struct {
	kind                   string
	min, max               bson.Value
	shortest, longest      int64
	hasShortest, hasLong   bool
	hasCase, hasDiacritics bool
}

// encryptedQueries reads the argument queries of an encrypted field, one type of query or an array of them; null is
// an error here, although elsewhere it counts as absent. Errors: TypeMismatch (14), 9783412, errors of
// encryptedQueryArg.
func encryptedQueries(c *command.Call, at string, v bson.Value) ([]encryptedQuery, error) {
	docs := []bson.Raw{nil}
	var ok bool
	if docs[0], ok = v.Doc(); !ok || v.Type != bson.TypeDocument {
		if v.Type != bson.TypeArray {
			return nil, mongoerr.WrongType(c.Field(at), v.Type.String(), "array", "object")
		}
		var err error
		if docs, err = c.DocArray(at, v, math.MaxInt32); err != nil {
			return nil, err
		}
		if len(docs) == 0 {
			return nil, mongoerr.New(9783412, "The queries of an encrypted field cannot be an empty array")
		}
	}
	var out []encryptedQuery
	for _, d := range docs {
		q, err := encryptedQueryArg(c, at, d)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// encryptedQueryArg reads one type of query of an encrypted field, with its parameters. at is the name of the field in
// errors.
// Errors: TypeMismatch (14), BadValue (2), FailedToParse (9), IDLUnknownField (40415), IDLFailedToParse (40414),
// 8574000.
func encryptedQueryArg(c *command.Call, at string, d bson.Raw) (q encryptedQuery, err error) {
	whole := func(name string, to *int64, lo, hi int64) arguments.Arg {
		return arguments.By(name, func(v bson.Value) (err error) {
			*to, err = wholeArg(c, at+"."+name, v, lo, hi)
			return err
		})
	}
	var unused, trim int64
	err = c.ReadFields(at, d,
		arguments.Enum("queryType", &q.kind, "equality", "range", "rangePreview", "substringPreview", "suffixPreview", "prefixPreview"),
		arguments.Value("min", &q.min),
		arguments.Value("max", &q.max),
		whole("contention", &unused, 0, math.MaxInt64),
		whole("precision", &unused, 0, math.MaxInt64),
		whole("trimFactor", &trim, 0, math.MaxInt64).Check(func() error {
			if trim > 128 {
				return mongoerr.New(8574000, "A trimFactor of %d is more than any type of range has bits", trim)
			}
			return nil
		}),
		whole("sparsity", &unused, 1, 8),
		whole("strMaxLength", &unused, 1, math.MaxInt64),
		whole("strMinQueryLength", &q.shortest, 1, math.MaxInt64).Given(&q.hasShortest),
		whole("strMaxQueryLength", &q.longest, 1, math.MaxInt64).Given(&q.hasLong),
		arguments.StrictBool("caseSensitive", nil).Given(&q.hasCase),
		arguments.StrictBool("diacriticSensitive", nil).Given(&q.hasDiacritics),
	)
	if err == nil && q.kind == "" {
		err = mongoerr.MissingField(c.Field(at + ".queryType"))
	}
	return q, err
}

// wholeArg reads an argument that must be an integer from lo to hi; 0 if it is missing.
// Errors: TypeMismatch (14), FailedToParse (9), BadValue (2).
func wholeArg(c *command.Call, name string, v bson.Value, lo, hi int64) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := v.AsInt64()
	if !ok {
		if _, err := c.LongArg(name, v); err != nil {
			return 0, err
		}
		return 0, mongoerr.New(mongoerr.FailedToParse, "Expected an integer: %s: %s", name, v)
	}
	return n, arguments.Between(name, n, lo, hi)
}

// check refuses a type of query, such as range, that an encrypted field of the BSON type kind does not allow.
func (q *encryptedQuery) check(kind string) error {
	switch q.kind {
	case "equality":
		switch kind {
		case "double", "decimal", "object", "array":
			return mongoerr.New(6338405, "A field of the type '%s' cannot be encrypted for queries by equality", kind)
		}
	case "range", "rangePreview":
		return q.checkRange(kind)
	default:
		return q.checkText(kind)
	}
	return nil
}

// checkRange checks a range query of an encrypted field: its bounds must have the field's BSON type kind, and min
// must be less than max.
func (q *encryptedQuery) checkRange(kind string) error {
	switch kind {
	case "double", "decimal", "int", "long", "date":
	default:
		return mongoerr.New(6775201, "A field of the type '%s' cannot be encrypted for queries by range", kind)
	}
	for _, v := range [...]bson.Value{q.min, q.max} {
		if !v.IsMissing() && v.Type.String() != kind {
			return mongoerr.New(7018200, "The bounds of an encrypted field must be of its type %s, not %s", kind, v.Type)
		}
	}
	if !q.min.IsMissing() && !q.max.IsMissing() && bson.Compare(q.min, q.max, nil) >= 0 {
		return mongoerr.New(6720005, "The lower bound of an encrypted field must be less than the upper one")
	}
	return nil
}

// checkText checks that a query by parts of strings is on a string field, and has all its required parameters.
func (q *encryptedQuery) checkText(kind string) error {
	missing := func(code mongoerr.Code, name string) error {
		return mongoerr.New(code, "Queries of the type %s need %s", q.kind, name)
	}
	switch {
	case kind != "string":
		return mongoerr.New(9783400, "Queries of the type %s are for strings, not for '%s'", q.kind, kind)
	case !q.hasShortest:
		return missing(9783402, "strMinQueryLength")
	case !q.hasLong:
		return missing(9783403, "strMaxQueryLength")
	case !q.hasCase:
		return missing(9783404, "caseSensitive")
	case !q.hasDiacritics:
		return missing(9783405, "diacriticSensitive")
	case q.shortest > q.longest:
		return mongoerr.New(9783406, "strMinQueryLength must not be more than strMaxQueryLength")
	}
	return nil
}
