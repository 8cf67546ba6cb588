// Package defects counts and keeps defects of the server, for a user to report: panics of commands
// and background jobs, and unforeseen errors, which clients get as InternalError (1).
//
// The kind of a defect is its stack without addresses, or its text without numbers. The first of a
// kind is written to the log and, with the stack, to a file beside the data; of the others the
// 10th, 100th and so on are written to the log.
package defects
