package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// Reader reads the arguments of one command from its document. Values that it returns alias the
// document.
type Reader struct {
	Command string        // canonical name of the command
	Body    bson.Raw      // document of the command
	Msg     *wire.Message // whose document sequences belong to Body
}

// Field returns the full name of an argument for messages: "find.limit".
func (r *Reader) Field(name string) string { return r.Command + "." + name }

// Each visits the command's own arguments in order, without the first field and the generic
// arguments. An argument that is null or undefined is passed as a missing value, which means
// absent. fn reports whether the command has an argument of the name; an unknown argument is an
// error. The chain has checked before that no argument occurs twice.
// Errors: IDLUnknownField (40415), those of fn.
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

// CheckOnce refuses a command in which a field occurs twice, even a generic one. maxTimeMS is an
// exception: Go's driver adds one for the deadline of a context, even to a command that has one.
// All readers use the first.
// Errors: IDLDuplicateField (40413).
func (r *Reader) CheckOnce() error {
	var seen bson.Names
	for it := r.Body.Iter(); it.Next(); {
		if seen.Add(it.Name) && string(it.Name) != "maxTimeMS" {
			return mongoerr.RepeatedField(r.Field(string(it.Name)))
		}
	}
	return nil
}

// NoArguments refuses every argument of a command that has none.
// Errors: IDLUnknownField (40415).
func (r *Reader) NoArguments() error {
	return r.Each(func(string, bson.Value) (bool, error) { return false, nil })
}

// EachField visits the fields of an argument that is a document; null fields are passed as
// missing.
// Errors: IDLUnknownField (40415), IDLDuplicateField (40413), those of fn.
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
