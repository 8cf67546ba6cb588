package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// Reader reads the arguments of one command from its document. What it returns aliases
// that.
type Reader struct {
	Command string        // its canonical name
	Body    bson.Raw      // its document
	Msg     *wire.Message // whose document sequences belong to Body
}

// Field is the full name of an argument for messages: "find.limit".
func (r *Reader) Field(name string) string { return r.Command + "." + name }

// Each visits the command's own arguments in order: not the first field, not
// the generic ones. One that is null or undefined comes as a missing value, which means absent.
// fn reports whether it knows the name; an unknown one is an error. That none comes twice is
// looked at before, by the chain.
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

// CheckOnce refuses a command in which a field comes twice, also a generic one, except maxTimeMS:
// Go's driver adds one for the deadline of a context, also to a command that has one. All readers
// take the first.
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

// EachField visits the fields of an argument that is a document; null ones come as missing.
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
