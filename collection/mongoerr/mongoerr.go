// Package mongoerr holds the one error type that reaches a client, and the codes it can carry.
//
// The code that detects a failure makes an Error with its code and its text. All callers return the
// Error unchanged: it must not be wrapped with fmt.Errorf on its way to the client. Because adds context
// for the log. Only package wire and those below it attach labels, because most depend on the session's state.
//
//	return mongoerr.New(mongoerr.BadValue, "limit must be positive, got %d", n)
//	return mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
//
// The package imports no other package of the project, so that every package may import it. Errors are
// immutable after they are shared; With, WithFields, Prefix and Because return copies.
package mongoerr

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code is a MongoDB error code. Any number is allowed; codes.txt lists the codes with names.
type Code int32

// Category is a group of error codes that drivers handle in the same way, such as those to be retried; see Code.Is.
type Category uint8

// String returns the code's codeName in error replies: its name in codes.txt, or Location and the number.
func (c Code) String() string {
	if s := c.name(); s != "" {
		return s
	}
	return "Location" + strconv.Itoa(int(c))
}

// Labels is a bit set of error labels, the words in an error on which drivers act. Spec: driver-sessions,
// transactions, retryable-writes, retryable-reads.
type Labels uint8

// The labels a server may attach.
const (
	TransientTransactionError Labels = 1 << iota
	UnknownTransactionCommitResult
	RetryableWriteError
	ResumableChangeStreamError
	NoWritesPerformed
	SystemOverloadedError
	RetryableError
	NonResumableChangeStreamError
)

// labelNames lists the names by bit number.
var labelNames = [...]string{
	"TransientTransactionError",
	"UnknownTransactionCommitResult",
	"RetryableWriteError",
	"ResumableChangeStreamError",
	"NoWritesPerformed",
	"SystemOverloadedError",
	"RetryableError",
	"NonResumableChangeStreamError",
}

// LabelByName returns the error label of that name, 0 if there is none.
func LabelByName(name string) Labels {
	for i, s := range labelNames {
		if s == name {
			return 1 << i
		}
	}
	return 0
}

// Names returns the names of the set in a fixed order.
func (l Labels) Names() []string {
	var names []string
	for i, s := range labelNames {
		if l&(1<<i) != 0 {
			names = append(names, s)
		}
	}
	return names
}

// Error is a failure that is reported to a client.
type Error struct {
	Code   Code
	Msg    string // errmsg, verbatim
	Labels Labels
	Fields []byte // BSON elements spliced into the reply: keyPattern, keyValue, errInfo, RetryAfterMs
	cause  error  // for the log only
}

// New makes an error with a code and a formatted text. Without args, format is the text itself, so that a text with
// per cent signs from a client needs no escaping.
func New(c Code, format string, args ...any) *Error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &Error{Code: c, Msg: format}
}

// Error returns the name of the error's code, its text and its cause, for logs and tests.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("(")
	b.WriteString(e.Code.String())
	b.WriteString(") ")
	b.WriteString(e.Msg)
	if e.cause != nil {
		b.WriteString(": ")
		b.WriteString(e.cause.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, &Error{Code: c}) compare by code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy with additional labels.
func (e *Error) With(l Labels) *Error {
	c := *e
	c.Labels |= l
	return &c
}

// WithFields returns a copy of the error with further BSON elements for the reply. The bytes are copied.
func (e *Error) WithFields(elements []byte) *Error {
	c := *e
	c.Fields = append(c.Fields[:len(c.Fields):len(c.Fields)], elements...)
	return &c
}

// Prefix returns a copy of the error whose text begins with a formatted context. It is used where MongoDB also puts
// a context before the text.
func (e *Error) Prefix(format string, args ...any) *Error {
	c := *e
	c.Msg = fmt.Sprintf(format, args...) + e.Msg
	return &c
}

// Because returns a copy with a cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Cause returns the error that Because has set as the cause for the log, nil if there is none.
func (e *Error) Cause() error { return e.cause }

// From converts any error to an Error for the client. An *Error in the chain of err is returned itself; an expired or
// cancelled context becomes MaxTimeMSExpired or Interrupted; any other error becomes InternalError with err as cause,
// which the caller logs. nil, also a nil *Error, stays nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		if e == nil {
			return nil
		}
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return New(MaxTimeMSExpired, "operation exceeded time limit").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Interrupted, "operation was interrupted").Because(err)
	}
	return New(InternalError, "an internal error occurred").Because(err)
}

// CodeOf returns the code of From(err), 0 for nil.
func CodeOf(err error) Code {
	if e := From(err); e != nil {
		return e.Code
	}
	return 0
}

// WriteError is the error of one statement of a bulk write; Index is the statement's number, from 0.
type WriteError struct {
	Index int32
	Err   *Error
}
