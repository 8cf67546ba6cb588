package mongoerr

import (
	"fmt"
	"strings"
)

// Constructors of errors that more than one place raises. Their names differ from the
// codes' on purpose: TypeMismatch is the code, WrongType makes the error.

// NoNamespace says that a command needs a collection that does not exist.
func NoNamespace(ns string) *Error {
	return New(NamespaceNotFound, "ns not found: %s", ns)
}

// NamespaceTaken says that a collection or view of that name exists with other options.
func NamespaceTaken(ns string) *Error {
	return New(NamespaceExists, "namespace %s already exists, but with different options", ns)
}

// BadNamespace says that a name can be no namespace.
func BadNamespace(ns string) *Error {
	return New(InvalidNamespace, "Invalid namespace specified '%s'", ns)
}

// NoCursor is the answer to getMore on an id that is unknown, closed or timed out, or was opened
// by another server, if owner says which (a sentence can begin with it).
func NoCursor(id int64, owner string) *Error {
	if owner != "" {
		return New(CursorNotFound, "cursor id %d not found here: %s opened it, and only that one can go on with it", id, owner)
	}
	return New(CursorNotFound, "cursor id %d not found", id)
}

// Duplicate says that a unique index already has the key. keyPattern and keyValue are
// complete BSON documents; keyText is keyValue as a shell prints it with index keys in
// front, e.g. `{ a: 1 }`.
// Manual: core/index-unique
func Duplicate(ns, index, keyText string, keyPattern, keyValue []byte) *Error {
	e := New(DuplicateKey, "E11000 duplicate key error collection: %s index: %s dup key: %s", ns, index, keyText)
	e.Fields = appendRaw(e.Fields, "keyPattern", keyPattern)
	e.Fields = appendRaw(e.Fields, "keyValue", keyValue)
	return e
}

// WrongType says that a command or stage argument has a type that is not allowed. field is
// the full name ("find.filter"), got and want are BSON type aliases ("string", "object").
func WrongType(field, got string, want ...string) *Error {
	if len(want) == 1 {
		return New(TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type '%s'", field, got, want[0])
	}
	return New(TypeMismatch, "BSON field '%s' is the wrong type '%s', expected types '[%s]'",
		field, got, strings.Join(want, ", "))
}

// UnknownField says that a command or argument document has a field nobody knows. field is
// the full name ("find.x").
func UnknownField(field string) *Error {
	return New(IDLUnknownField, "BSON field '%s' is an unknown field.", field)
}

// MissingField says that a required field is absent. field is the full name.
func MissingField(field string) *Error {
	return New(IDLFailedToParse, "BSON field '%s' is missing but a required field", field)
}

// RepeatedField says that a command has a field twice. field is the full name.
func RepeatedField(field string) *Error {
	return New(40413, "BSON field '%s' is a duplicate field", field)
}

// BadEnum says that a string argument is none of the allowed ones.
func BadEnum(field, got string) *Error {
	return New(BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", got, field)
}

// OutOfRange says that a number argument is below (bound ">=") or above ("<=") its limit.
func OutOfRange(field string, got int64, bound string, limit int64) *Error {
	return New(BadValue, "BSON field '%s' value must be %s %d, actual value '%d'", field, bound, limit, got)
}

// NoCommand is the answer to an unknown command name.
func NoCommand(name string) *Error {
	return New(CommandNotFound, "no such command: '%s'", name)
}

// NotImplementedYet is the answer to something the manual describes and we know by name,
// but do not do. what names it as a user writes it ("$foo", "option bar of create").
func NotImplementedYet(what string) *Error {
	return New(NotImplemented, "%s is not implemented", what)
}

// NotAuthorized says that the user may not do that.
func NotAuthorized(db, command string) *Error {
	return New(Unauthorized, "not authorized on %s to execute command %s", db, command)
}

// ViewNotAllowed says that a command does not work on a view.
func ViewNotAllowed(ns string) *Error {
	return New(CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
}

// DocumentTooLarge says that a document of that many bytes exceeds the limit.
func DocumentTooLarge(size, limit int) *Error {
	return New(BSONObjectTooLarge, "BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d", size, size, limit)
}

// Bug panics: the programmer, not the client, made an error. The command chain recovers,
// logs the stack and answers InternalError.
func Bug(format string, args ...any) {
	panic("BUG: " + fmt.Sprintf(format, args...))
}
