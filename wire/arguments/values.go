package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Functions that read the value of one argument. For a missing value (absent or null) all but GivenHint and CursorArg
// return the zero value and no error.

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

// EnumArg returns a string that must be one of the allowed strings. Errors: TypeMismatch (14), BadValue (2).
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

// BoolArg returns a boolean. A number is accepted too, as by MongoDB for arguments of this type, and is true if it
// is not 0. Errors: TypeMismatch (14).
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

// GivenHint returns a hint as HintArg does, but returns an error if the hint is absent or null. Errors:
// FailedToParse (9).
func (r *Reader) GivenHint(v bson.Value) (bson.Value, error) {
	if v.IsMissing() {
		return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	return r.HintArg(v)
}

// HintArg returns a hint: the name of an index as a string, or its key pattern as a document. An empty document
// counts as no hint. Errors: FailedToParse (9).
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

// CheckUUIDArg returns an error unless the argument is a UUID, absent or null. Errors: TypeMismatch (14),
// InvalidUUID (207).
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

// CursorArg returns the size of the first batch from an argument {batchSize: n}; without a batchSize it returns -1.
// Errors: TypeMismatch (14), BadValue (2), IDLUnknownField (40415), IDLDuplicateField (40413).
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

// ShardKeyArg returns a shard key, which the client gives as a path ("a.b") or as a key pattern ({"a.b": 1}).
// A path becomes a hashed key. Errors: TypeMismatch (14), BadValue (2).
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
