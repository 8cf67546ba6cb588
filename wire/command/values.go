package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Readers of argument values. A missing value (absent or null) gives the zero
// and no error. field is the full name for messages, "find.limit".

func (c *Call) field(name string) string { return c.Name() + "." + name }

// docArg reads a document. Errors: TypeMismatch (14).
func (c *Call) docArg(name string, v bson.Value) (bson.Raw, error) {
	if v.IsMissing() {
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.WrongType(c.field(name), v.Type.String(), "object")
	}
	return d, nil
}

// stringArg reads a string. Errors: TypeMismatch (14).
func (c *Call) stringArg(name string, v bson.Value) (string, error) {
	if v.IsMissing() {
		return "", nil
	}
	if v.Type != bson.TypeString {
		return "", mongoerr.WrongType(c.field(name), v.Type.String(), "string")
	}
	s, _ := v.Str()
	return s, nil
}

// boolArg reads a boolean; numbers count as booleans where MongoDB is lenient.
// Errors: TypeMismatch (14).
func (c *Call) boolArg(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	if v.Type != bson.TypeBool && !v.IsNumber() {
		return false, mongoerr.WrongType(c.field(name), v.Type.String(), "bool", "long", "int", "decimal", "double")
	}
	return v.Truthy(), nil
}

// strictBool reads a boolean and nothing else. Errors: TypeMismatch (14).
func (c *Call) strictBool(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(c.field(name), v.Type.String(), "bool")
	}
	return b, nil
}

// intArg reads a number of any type towards zero. Errors: TypeMismatch (14).
func (c *Call) intArg(name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := v.TruncInt64()
	if !ok {
		return 0, mongoerr.WrongType(c.field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	return n, nil
}

// atLeast reads a number that must not be below a bound.
// Errors: TypeMismatch (14), BadValue (2, "must be >=").
func (c *Call) atLeast(name string, v bson.Value, least int64) (int64, error) {
	n, err := c.longArg(name, v)
	if err != nil || v.IsMissing() {
		return n, err
	}
	if n < least {
		return 0, mongoerr.New(51024, "BSON field '%s' value must be >= %d, actual value '%d'", name, least, n)
	}
	return n, nil
}

// givenHint is hintArg where null is no way to leave it out.
// Errors: FailedToParse (9).
func (c *Call) givenHint(v bson.Value) (bson.Value, error) {
	if v.IsMissing() {
		return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	return c.hintArg(v)
}

// hintArg reads an index name or key pattern. Errors: FailedToParse (9).
func (c *Call) hintArg(v bson.Value) (bson.Value, error) {
	switch v.Type {
	case bson.TypeMissing, bson.TypeString:
		return v, nil
	case bson.TypeDocument:
		if d, _ := v.Doc(); d.IsEmpty() {
			return bson.Value{}, nil
		}
		return v, nil
	}
	return bson.Value{}, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
}
