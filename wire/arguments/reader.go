package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// Reader reads the arguments of one command from the document of the command. Values that it returns share the
// memory of this document.
type Reader struct {
	Command string        // canonical name of the command
	Body    bson.Raw      // document of the command
	Msg     *wire.Message // whose document sequences belong to Body
}

// Field returns the full name of an argument for error messages: "find.limit".
func (r *Reader) Field(name string) string { return r.Command + "." + name }

// Each calls fn for each of the command's own arguments in order, without the first field (the command's name) and
// the generic arguments. An argument that is null or undefined is passed as a missing value, as if it were absent.
// fn reports whether the command has an argument of that name; an unknown argument is an error. The chain has
// checked before that no argument occurs twice. Errors: IDLUnknownField (40415), errors of fn.
func (r *Reader) Each(fn func(name string, v bson.Value) (known bool, err error)) error {
	it := r.Body.Iter()
	it.Next()
	for it.Next() {
		name := Name(it.Name)
		if Generic(name) {
			continue
		}
		v := it.Value
		absent := v.Type == bson.TypeNull || v.Type == bson.TypeUndefined
		if absent {
			v = bson.Value{}
		}
		known, err := fn(name, v)
		if !known {
			return mongoerr.UnknownField(r.Field(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckOnce returns an error if a field of the command occurs twice, even a generic one. maxTimeMS is an exception:
// the Go driver adds one for the deadline of a context, even to a command that already has one; then the first is
// used. Errors: IDLDuplicateField (40413).
func (r *Reader) CheckOnce() error {
	var seen bson.Names
	for it := r.Body.Iter(); it.Next(); {
		if seen.Add(it.Name) && string(it.Name) != "maxTimeMS" {
			return mongoerr.RepeatedField(r.Field(string(it.Name)))
		}
	}
	return nil
}

// NoArguments returns an error if a command that has no arguments of its own was sent with one. Errors:
// IDLUnknownField (40415).
func (r *Reader) NoArguments() error {
	return r.Each(func(string, bson.Value) (bool, error) { return false, nil })
}

// EachField calls fn for each field of an argument that is a document; a null field is passed as a missing value.
// field is the full name of the argument for errors. Errors: IDLUnknownField (40415), IDLDuplicateField (40413),
// errors of fn.
func EachField(d bson.Raw, field string, fn func(name string, v bson.Value) (known bool, err error)) error {
	if name, twice := d.Repeated(); twice {
		return mongoerr.RepeatedField(field + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		name := Name(it.Name)
		v := it.Value
		if v.Type == bson.TypeNull || v.Type == bson.TypeUndefined {
			v = bson.Value{}
		}
		known, err := fn(name, v)
		if !known {
			return mongoerr.UnknownField(field + "." + name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
