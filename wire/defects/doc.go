// Package defects keeps what a user reports when the server has a defect: a panic that a command, a
// getMore or a background job ended in, and an error that nobody has foreseen, which clients get as
// InternalError (1).
//
// Each is counted. The first of its kind, which is what its stack is without addresses, or its text
// without numbers, is written to the log and, with the stack, to a file beside the data; the others
// of the kind are a line of the log now and then.
package defects
