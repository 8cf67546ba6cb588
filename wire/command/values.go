package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Readers of argument values. A missing value (absent or null) gives the zero
// and no error.

// Field is the full name of an argument for messages: "find.limit".
func (c *Call) Field(name string) string { return c.Name() + "." + name }

// DocArg reads a document. Errors: TypeMismatch (14).
func (c *Call) DocArg(name string, v bson.Value) (bson.Raw, error) {
	if v.IsMissing() {
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "object")
	}
	return d, nil
}

// StringArg reads a string. Errors: TypeMismatch (14).
func (c *Call) StringArg(name string, v bson.Value) (string, error) {
	if v.IsMissing() {
		return "", nil
	}
	if v.Type != bson.TypeString {
		return "", mongoerr.WrongType(c.Field(name), v.Type.String(), "string")
	}
	s, _ := v.Str()
	return s, nil
}

// BoolArg reads a boolean; numbers count as booleans where MongoDB is lenient.
// Errors: TypeMismatch (14).
func (c *Call) BoolArg(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	if v.Type != bson.TypeBool && !v.IsNumber() {
		return false, mongoerr.WrongType(c.Field(name), v.Type.String(), "bool", "long", "int", "decimal", "double")
	}
	return v.Truthy(), nil
}

// StrictBool reads a boolean and nothing else. Errors: TypeMismatch (14).
func (c *Call) StrictBool(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(c.Field(name), v.Type.String(), "bool")
	}
	return b, nil
}

// IntArg reads a number of any type towards zero. Errors: TypeMismatch (14).
func (c *Call) IntArg(name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := v.TruncInt64()
	if !ok {
		return 0, mongoerr.WrongType(c.Field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	return n, nil
}

// AtLeast reads a number that must not be below a bound.
// Errors: TypeMismatch (14), BadValue (2, "must be >=").
func (c *Call) AtLeast(name string, v bson.Value, least int64) (int64, error) {
	n, err := c.LongArg(name, v)
	if err != nil || v.IsMissing() {
		return n, err
	}
	if n < least {
		return 0, mongoerr.New(51024, "BSON field '%s' value must be >= %d, actual value '%d'", name, least, n)
	}
	return n, nil
}

// GivenHint is hintArg where null is no way to leave it out.
// Errors: FailedToParse (9).
func (c *Call) GivenHint(v bson.Value) (bson.Value, error) {
	if v.IsMissing() {
		return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	return c.HintArg(v)
}

// HintArg reads an index name or key pattern. Errors: FailedToParse (9).
func (c *Call) HintArg(v bson.Value) (bson.Value, error) {
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

// HasField reports that a document has a field of its own.
func HasField(d bson.Raw, name string) bool {
	_, ok := d.Lookup(name)
	return ok
}

// Between refuses a number outside [lo, hi]. Errors: BadValue (2).
func Between(name string, n, lo, hi int64) error {
	if n < lo {
		return mongoerr.OutOfRange(name, n, ">=", lo)
	}
	if n > hi {
		return mongoerr.OutOfRange(name, n, "<=", hi)
	}
	return nil
}

// CheckUUIDArg checks that an argument is a UUID or absent.
// Errors: TypeMismatch (14), InvalidUUID (207).
func (c *Call) CheckUUIDArg(name string, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	sub, b, ok := v.Binary()
	if !ok {
		return mongoerr.WrongType(c.Field(name), v.Type.String(), "binData")
	}
	if sub != 4 || len(b) != 16 {
		return mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype, got: %s", v)
	}
	return nil
}

// CheckUUID compares a collection with the UUID a client expects it to have; a
// missing value expects nothing. Errors: CollectionUUIDMismatch (361).
func (c *Call) CheckUUID(ns collection.Namespace, coll *catalog.Collection, uuid bson.Value) error {
	_, want, ok := uuid.Binary()
	if !ok || coll != nil && string(coll.UUID[:]) == string(want) {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("db", ns.DB)
	b.Value("collectionUUID", uuid)
	b.String("expectedCollection", ns.Coll)
	b.Null("actualCollection")
	for _, other := range c.Cluster.Catalog.Peek().Collections(ns.DB) {
		if string(other.UUID[:]) == string(want) {
			b = bson.NewBuilder(nil)
			b.String("db", ns.DB)
			b.Value("collectionUUID", uuid)
			b.String("expectedCollection", ns.Coll)
			b.String("actualCollection", other.Namespace.Coll)
		}
	}
	return mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified").WithFields(b.Doc().Elements())
}

// SetCollation makes a command's collation its environment's.
// Manual: reference/collation. Errors: those of mql.ParseCollation.
func (c *Call) SetCollation(v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	if v.Type != bson.TypeDocument {
		return mongoerr.WrongType(c.Field("collation"), v.Type.String(), "object")
	}
	if d, _ := v.Doc(); d.IsEmpty() {
		return nil
	}
	col, err := mql.ParseCollation(v)
	if err != nil {
		return err
	}
	c.Env().Collation, c.Env().SimpleCollation = col, col == nil
	return nil
}

// NoArguments refuses every argument of a command that has none.
// Errors: IDLUnknownField (40415).
func (c *Call) NoArguments() error {
	return c.Each(func(string, bson.Value) (bool, error) { return false, nil })
}
