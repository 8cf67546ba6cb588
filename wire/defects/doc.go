// Package defects counts and records defects of the server for users to report: panics of commands
// and background jobs, and unforeseen errors, which clients get as InternalError (1).
//
// The kind of a defect is its stack without addresses, or its text without numbers. The first of a
// kind is logged, and written with its stack to a file beside the data; of the others, the 10th,
// 100th and so on are logged.
package defects
