package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Arg is the row of one argument of a command: its name, its type, the variable that gets its value, and its rules.
// A command lists its arguments as rows and passes them to Reader.ReadArgs. An argument that is absent, or null without
// a rule for null, leaves its variable unchanged. A row with a nil variable is for an argument whose type is checked, but
// which has no effect.
//
// Rows are values on the stack, so they allocate nothing.
type Arg struct {
	name   string
	to     any // pointer to the variable; its type depends on kind
	kind   kind
	bounds bounds
	flags  flags
	given  *bool                    // set to whether the argument is present
	lo, hi int64                    // the bounds
	words  []string                 // the allowed values of an Enum, or further names of an Ignored
	by     func(v bson.Value) error // reads the argument itself, or is called before it is read
	check  func() error             // checks the variable after the value has been read
}

// kind selects how a value is read.
type kind uint8

const (
	ignored kind = iota
	others
	anyValue
	document
	text
	enum
	lenientBool
	strictBool
	long
	truncated
	hint
	givenHint
	uuid
	shardKey
	cursorSize
	documents
	own
)

// bounds selects which of the bounds lo and hi a number has, and the error if it is outside them.
type bounds uint8

const (
	unbounded bounds = iota // neither
	least                   // lo; error 51024
	from                    // lo; BadValue
	between                 // lo and hi; BadValue
)

// flags are rules that are on or off.
type flags uint8

const (
	required flags = 1 << iota
	withNull
	notNull
	present // the argument was in the command, and not null
)

// Ignored accepts arguments of any type, without effect.
func Ignored(names ...string) Arg { return Arg{kind: ignored, words: names} }

// Others returns a row that accepts all arguments without a row of their own, and gives them no effect. It must be
// the last row.
func Others() Arg { return Arg{kind: others} }

// Value reads a value of any type.
func Value(name string, to *bson.Value) Arg { return Arg{name: name, kind: anyValue, to: to} }

// Doc reads a document, as Reader.DocArg.
func Doc(name string, to *bson.Raw) Arg { return Arg{name: name, kind: document, to: to} }

// Docs returns the row of an array of at most hi documents; see Reader.DocArray for its errors.
func Docs(name string, to *[]bson.Raw, hi int) Arg {
	return Arg{name: name, kind: documents, to: to, hi: int64(hi)}
}

// String reads a string, as Reader.StringArg.
func String(name string, to *string) Arg { return Arg{name: name, kind: text, to: to} }

// Enum returns the row of a string that must be one of words; see Reader.EnumArg for its errors.
func Enum(name string, to *string, words ...string) Arg {
	return Arg{name: name, kind: enum, to: to, words: words}
}

// Bool reads a boolean or a number, as Reader.BoolArg.
func Bool(name string, to *bool) Arg { return Arg{name: name, kind: lenientBool, to: to} }

// StrictBool reads a boolean, as Reader.StrictBool.
func StrictBool(name string, to *bool) Arg { return Arg{name: name, kind: strictBool, to: to} }

// Long reads a number as an integer, as Reader.LongArg.
func Long(name string, to *int64) Arg { return Arg{name: name, kind: long, to: to} }

// Truncated reads a number towards zero, as Reader.IntArg.
func Truncated(name string, to *int64) Arg { return Arg{name: name, kind: truncated, to: to} }

// Hint reads an index name or key pattern, as Reader.HintArg.
func Hint(name string, to *bson.Value) Arg { return Arg{name: name, kind: hint, to: to} }

// GivenHint returns the row of a hint that must not be null; see Reader.GivenHint for its errors.
func GivenHint(name string, to *bson.Value) Arg {
	return Arg{name: name, kind: givenHint, to: to, flags: withNull}
}

// UUID reads a UUID, as Reader.CheckUUIDArg.
func UUID(name string, to *bson.Value) Arg { return Arg{name: name, kind: uuid, to: to} }

// ShardKey reads a shard key, as Reader.ShardKeyArg.
func ShardKey(name string, to *bson.Raw) Arg { return Arg{name: name, kind: shardKey, to: to} }

// CursorSize returns the row of an argument {batchSize: n}; without a batchSize the variable becomes -1. See
// Reader.CursorArg for its errors.
func CursorSize(name string, to *int64) Arg { return Arg{name: name, kind: cursorSize, to: to} }

// By returns the row of an argument whose value a function of the command reads, because only this command has its
// type.
func By(name string, read func(v bson.Value) error) Arg { return Arg{name: name, kind: own, by: read} }

// Given makes the row set a variable of the command: true if the argument is present, false if it is null. An absent
// argument leaves the variable unchanged.
func (a Arg) Given(to *bool) Arg {
	a.given = to
	return a
}

// Required makes the argument required: a command in which it is absent or null is refused. Errors: IDLFailedToParse
// (40414).
func (a Arg) Required() Arg {
	a.flags |= required
	return a
}

// WithNull makes the row call the function of By even if the argument is null, with a missing value.
func (a Arg) WithNull() Arg {
	a.flags |= withNull
	return a
}

// NotNull refuses null for a boolean. Errors: TypeMismatch (14).
func (a Arg) NotNull() Arg {
	a.flags |= notNull
	return a
}

// Guard makes the row call fn with the value of the argument, if it is present, before the value is read. A row made
// by By cannot have a guard. Errors: errors of fn.
func (a Arg) Guard(fn func(v bson.Value) error) Arg {
	a.by = fn
	return a
}

// Least refuses a number below lo, as Reader.AtLeast.
func (a Arg) Least(lo int64) Arg {
	a.bounds, a.lo = least, lo
	return a
}

// From refuses a number below lo. Errors: BadValue (2).
func (a Arg) From(lo int64) Arg {
	a.bounds, a.lo = from, lo
	return a
}

// Within refuses a number outside [lo, hi], as Between.
func (a Arg) Within(lo, hi int64) Arg {
	a.bounds, a.lo, a.hi = between, lo, hi
	return a
}

// Check makes the row call fn, if the argument is present, after its variable was set. Errors: errors of fn.
func (a Arg) Check(fn func() error) Arg {
	a.check = fn
	return a
}

// ReadArgs reads the command's own arguments, in the order in which they occur in the command. Errors:
// IDLUnknownField (40415) for an argument without a row, IDLFailedToParse (40414) for a required argument that is
// absent, errors of the rows.
func (r *Reader) ReadArgs(rows ...Arg) error {
	it := r.Body.Iter()
	it.Next()
	for it.Next() {
		name := Name(it.Name)
		if Generic(name) {
			continue
		}
		a := rowOf(rows, name)
		if a == nil {
			return mongoerr.UnknownField(r.Field(name))
		}
		if err := r.readArg(a, name, it.Value); err != nil {
			return err
		}
	}
	return r.checkRequired(rows, "")
}

// ReadFields reads the fields of d, an argument that is a document, by their rows; name is the name of the argument.
// Error messages name the fields "argument.field". Errors: IDLDuplicateField (40413), errors of ReadArgs.
func (r *Reader) ReadFields(name string, d bson.Raw, rows ...Arg) error {
	if twice, ok := d.Repeated(); ok {
		return mongoerr.RepeatedField(r.Field(name) + "." + string(twice))
	}
	for it := d.Iter(); it.Next(); {
		full := name + "." + string(it.Name)
		a := rowOf(rows, full[len(name)+1:])
		if a == nil {
			return mongoerr.UnknownField(r.Field(full))
		}
		if err := r.readArg(a, full, it.Value); err != nil {
			return err
		}
	}
	return r.checkRequired(rows, name+".")
}

// rowOf returns the row of the argument with a name, or the row made by Others; nil if there is none.
func rowOf(rows []Arg, name string) *Arg {
	for i := range rows {
		a := &rows[i]
		if a.name == name && a.kind > others || a.kind == others {
			return a
		}
		if a.kind == ignored {
			for _, w := range a.words {
				if w == name {
					return a
				}
			}
		}
	}
	return nil
}

// checkRequired returns an error if a required argument is absent or null. In the message, prefix precedes the name of
// the argument.
func (r *Reader) checkRequired(rows []Arg, prefix string) error {
	for i := range rows {
		if rows[i].flags&(required|present) == required {
			return mongoerr.MissingField(r.Field(prefix + rows[i].name))
		}
	}
	return nil
}

// readArg reads one argument. full is its name for messages.
func (r *Reader) readArg(a *Arg, full string, v bson.Value) error {
	if a.kind <= others {
		return nil
	}
	has := v.Type != bson.TypeNull && v.Type != bson.TypeUndefined
	if a.given != nil {
		*a.given = has
	}
	if !has {
		return r.readNull(a, full)
	}
	a.flags |= present
	if a.by != nil && a.kind != own {
		if err := a.by(v); err != nil {
			return err
		}
	}
	if err := r.store(a, full, v); err != nil {
		return err
	}
	if a.check != nil {
		return a.check()
	}
	return nil
}

// readNull handles an argument that is null: it leaves the variable unchanged, unless the row has a rule for null
// (flags notNull and withNull).
func (r *Reader) readNull(a *Arg, full string) error {
	switch {
	case a.flags&notNull != 0:
		return mongoerr.WrongType(r.Field(full), bson.TypeNull.String(), "bool")
	case a.flags&withNull != 0:
		return r.store(a, full, bson.Value{})
	}
	return nil
}

// store reads the value of an argument by the kind of its row, and sets the variable of the row. full is the name of
// the argument for errors.
func (r *Reader) store(a *Arg, full string, v bson.Value) error {
	switch a.kind {
	case own:
		return a.by(v)
	case long, truncated:
		return r.storeNumber(a, full, v)
	case lenientBool:
		b, err := r.BoolArg(full, v)
		return set(a.to, b, err)
	case strictBool:
		b, err := r.StrictBool(full, v)
		return set(a.to, b, err)
	case document:
		d, err := r.DocArg(full, v)
		return set(a.to, d, err)
	case text:
		s, err := r.StringArg(full, v)
		return set(a.to, s, err)
	case enum:
		s, err := r.EnumArg(full, v, a.words...)
		return set(a.to, s, err)
	case documents:
		list, err := r.DocArray(full, v, int(a.hi))
		return set(a.to, list, err)
	case shardKey:
		d, err := r.ShardKeyArg(full, v)
		return set(a.to, d, err)
	case cursorSize:
		n, err := r.CursorArg(full, v)
		return set(a.to, n, err)
	}
	return r.storeValue(a, full, v)
}

// storeValue checks a value that the command uses as it is, such as a hint or a UUID, and sets the variable of the
// row to it.
func (r *Reader) storeValue(a *Arg, full string, v bson.Value) (err error) {
	switch a.kind {
	case hint:
		v, err = r.HintArg(v)
	case givenHint:
		v, err = r.GivenHint(v)
	case uuid:
		err = r.CheckUUIDArg(full, v)
	}
	return set(a.to, v, err)
}

// storeNumber sets the variable of the row to an integer, if it is within the bounds of the row. Error messages
// about bounds contain the name of the argument without the command.
func (r *Reader) storeNumber(a *Arg, full string, v bson.Value) (err error) {
	name := full[len(full)-len(a.name):] // not a.name, which would move the rows to the heap with the error
	var n int64
	if a.kind == truncated {
		n, err = r.IntArg(full, v)
	} else {
		n, err = r.LongArg(full, v)
	}
	if err == nil {
		switch a.bounds {
		case least:
			err = checkLeast(name, n, a.lo)
		case from:
			err = Between(name, n, a.lo, n)
		case between:
			err = Between(name, n, a.lo, a.hi)
		}
	}
	return set(a.to, n, err)
}

// set sets the variable, unless there was an error.
func set[T any](to any, value T, err error) error {
	if p := to.(*T); p != nil && err == nil {
		*p = value
	}
	return err
}
