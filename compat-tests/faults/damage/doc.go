// Package damage damages the files of a database in one place at a time: a bit, a block, or the end of a
// file. A server that starts must answer as the model does or report that the data are damaged. A server that
// does not start must report the reason in one sentence. The data that --serve-damaged and salvage return
// must be right, and nothing may hang or print a stack.
//
//	CANTLE_LONG   if set, the canary as well; nightly: 500 rounds instead of 60 (package programme)
//	CANTLE_SEED   of one round, as a failure prints it
package damage
