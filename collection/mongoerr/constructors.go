package mongoerr

import (
	"fmt"
	"strings"
)

// The functions below make errors that several places return. Their names differ from those of the codes on purpose:
// TypeMismatch is the code, WrongType makes the error.

// NoNamespace returns the error for a command on a collection that does not exist.
func NoNamespace(ns string) *Error {
	return New(NamespaceNotFound, "ns not found: %s", ns)
}

// NamespaceTaken returns the error for creating a collection or view that exists with different options.
func NamespaceTaken(ns string) *Error {
	return New(NamespaceExists, "namespace %s already exists, but with different options", ns)
}

// BadNamespace returns the error for an invalid namespace.
func BadNamespace(ns string) *Error {
	return New(InvalidNamespace, "Invalid namespace specified '%s'", ns)
}

// DollarInID returns the error for an _id that contains a field whose name begins with a dollar sign.
func DollarInID(name string) *Error {
	return New(DollarPrefixedFieldName, "_id fields may not contain '$'-prefixed fields: %s is not valid for storage.", name)
}

// NoCursor returns the error for a getMore with a cursor id that is unknown, closed or timed out. If another server
// opened the cursor, owner describes that server, in words that can begin a sentence; else it is "".
func NoCursor(id int64, owner string) *Error {
	if owner != "" {
		return New(CursorNotFound, "cursor id %d not found here: %s opened it, and only that one can go on with it", id, owner)
	}
	return New(CursorNotFound, "cursor id %d not found", id)
}

// Duplicate returns the error for a document whose values a unique index already has. keyPattern and keyValue are
// complete BSON documents; keyText is the text of keyValue in the form of a shell, such as `{ a: 1 }`.
// Manual: core/index-unique
func Duplicate(ns, index, keyText string, keyPattern, keyValue []byte) *Error {
	e := New(DuplicateKey, "E11000 duplicate key error collection: %s index: %s dup key: %s", ns, index, keyText)
	e.Fields = appendRaw(e.Fields, "keyPattern", keyPattern)
	e.Fields = appendRaw(e.Fields, "keyValue", keyValue)
	return e
}

// WrongType returns the error for an argument of a command or stage that has the wrong type. field is the full name
// ("find.filter"); the types, the argument's and the expected ones, are BSON type aliases ("string", "object").
func WrongType(field, got string, want ...string) *Error {
	if len(want) == 1 {
		return New(TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type '%s'", field, got, want[0])
	}
	return New(TypeMismatch, "BSON field '%s' is the wrong type '%s', expected types '[%s]'",
		field, got, strings.Join(want, ", "))
}

// UnknownField returns the error for an unknown field of a command or argument document. field is the
// full name ("find.x").
func UnknownField(field string) *Error {
	return New(IDLUnknownField, "BSON field '%s' is an unknown field.", field)
}

// MissingField returns the error for a missing required field of a command. field is the full name ("find.filter").
func MissingField(field string) *Error {
	return New(IDLFailedToParse, "BSON field '%s' is missing but a required field", field)
}

// RepeatedField returns the error for a field that occurs twice in a command. field is the full name
// ("find.filter").
func RepeatedField(field string) *Error {
	return New(40413, "BSON field '%s' is a duplicate field", field)
}

// BadEnum returns the error for a string argument that is not one of the allowed values.
func BadEnum(field, got string) *Error {
	return New(BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", got, field)
}

// OutOfRange returns the error for a number got in an argument that violates its limit: bound is ">=" for a minimum,
// "<=" for a maximum.
func OutOfRange(field string, got int64, bound string, limit int64) *Error {
	return New(BadValue, "BSON field '%s' value must be %s %d, actual value '%d'", field, bound, limit, got)
}

// NoCommand returns the error for an unknown command name.
func NoCommand(name string) *Error {
	return New(CommandNotFound, "no such command: '%s'", name)
}

// NotImplementedYet returns the error for a feature of MongoDB's manual that the server recognises but does not
// implement. what names it as a user writes it ("$foo", "option bar of create").
func NotImplementedYet(what string) *Error {
	return New(NotImplemented, "%s is not implemented", what)
}

// NotAuthorized returns the error for a user without the necessary privilege.
func NotAuthorized(db, command string) *Error {
	return New(Unauthorized, "not authorized on %s to execute command %s", db, command)
}

// ViewNotAllowed returns the error for a command that does not support views.
func ViewNotAllowed(ns string) *Error {
	return New(CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
}

// DocumentTooLarge returns the error for a document whose size in bytes exceeds the limit.
func DocumentTooLarge(size, limit int) *Error {
	return New(BSONObjectTooLarge, "BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d", size, size, limit)
}

// Bug panics, for a bug of the server and not an error of the client. The chain around every command recovers, logs
// the stack and returns InternalError.
func Bug(format string, args ...any) {
	panic("BUG: " + fmt.Sprintf(format, args...))
}
