package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Readers of argument values. A missing value (absent or null) gives the zero value and
// no error.

// DocArg reads a document. Errors: TypeMismatch (14).
func (r *Reader) DocArg(name string, v bson.Value) (bson.Raw, error) {
	if v.IsMissing() {
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.WrongType(r.Field(name), v.Type.String(), "object")
	}
	return d, nil
}

// StringArg reads a string. Errors: TypeMismatch (14).
func (r *Reader) StringArg(name string, v bson.Value) (string, error) {
	if v.IsMissing() {
		return "", nil
	}
	if v.Type != bson.TypeString {
		return "", mongoerr.WrongType(r.Field(name), v.Type.String(), "string")
	}
	s, _ := v.Str()
	return s, nil
}

// EnumArg reads a string that must be one of the allowed ones.
// Errors: TypeMismatch (14), BadValue (2).
func (r *Reader) EnumArg(name string, v bson.Value, allowed ...string) (string, error) {
	s, err := r.StringArg(name, v)
	if err != nil || v.IsMissing() {
		return s, err
	}
	for _, a := range allowed {
		if s == a {
			return s, nil
		}
	}
	return "", mongoerr.BadEnum(r.Field(name), s)
}

// BoolArg reads a boolean; numbers count as booleans where MongoDB is lenient.
// Errors: TypeMismatch (14).
func (r *Reader) BoolArg(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	if v.Type != bson.TypeBool && !v.IsNumber() {
		return false, mongoerr.WrongType(r.Field(name), v.Type.String(), "bool", "long", "int", "decimal", "double")
	}
	return v.Truthy(), nil
}

// StrictBool reads a boolean and nothing else. Errors: TypeMismatch (14).
func (r *Reader) StrictBool(name string, v bson.Value) (bool, error) {
	if v.IsMissing() {
		return false, nil
	}
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(r.Field(name), v.Type.String(), "bool")
	}
	return b, nil
}

// GivenHint is HintArg, except that the hint must not be null.
// Errors: FailedToParse (9).
func (r *Reader) GivenHint(v bson.Value) (bson.Value, error) {
	if v.IsMissing() {
		return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	return r.HintArg(v)
}

// HintArg reads an index name or key pattern. Errors: FailedToParse (9).
func (r *Reader) HintArg(v bson.Value) (bson.Value, error) {
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

// CheckUUIDArg checks that an argument is a UUID or absent.
// Errors: TypeMismatch (14), InvalidUUID (207).
func (r *Reader) CheckUUIDArg(name string, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	sub, b, ok := v.Binary()
	if !ok {
		return mongoerr.WrongType(r.Field(name), v.Type.String(), "binData")
	}
	if sub != 4 || len(b) != 16 {
		return mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype, got: %s", v)
	}
	return nil
}

// CursorArg reads {cursor: {batchSize: n}}; size is -1 without a batchSize.
// Errors: TypeMismatch (14), BadValue (2), IDLUnknownField (40415).
func (r *Reader) CursorArg(name string, v bson.Value) (size int64, err error) {
	size = -1
	d, err := r.DocArg(name, v)
	if err != nil {
		return size, err
	}
	return size, EachField(d, r.Field(name), func(field string, v bson.Value) (bool, error) {
		if field != "batchSize" {
			return false, nil
		}
		if v.IsMissing() {
			return true, nil
		}
		if size, err = r.LongArg(name+"."+field, v); err == nil && size < 0 {
			err = mongoerr.OutOfRange("batchSize", size, ">=", 0)
		}
		return true, err
	})
}

// ShardKeyArg reads a shard key given as a path or as a key pattern.
func (r *Reader) ShardKeyArg(name string, v bson.Value) (bson.Raw, error) {
	switch v.Type {
	case bson.TypeMissing:
		return nil, nil
	case bson.TypeDocument:
		d, _ := v.Doc()
		return d, nil
	}
	s, err := r.StringArg(name, v)
	if err != nil {
		return nil, err
	}
	if _, err := path.Compile(s); err != nil || s == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "'%s' is not a path for a shard key", s)
	}
	b := bson.NewBuilder(nil)
	b.String(s, "hashed")
	return b.Doc(), nil
}
