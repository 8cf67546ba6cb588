// Package damage damages the files of a database, one bit or a block or the end of one at a
// time, anywhere, and looks what becomes of it: a server that starts answers as the model
// does or says that the data are damaged; one that does not says so in one sentence; what
// --serve-damaged and salvage give is right; and nothing hangs or prints a stack.
//
//	CANTLE_LONG   if set, the canary as well; nightly: 500 rounds instead of 60 (package programme)
//	CANTLE_SEED   of one round, as a failure prints it
package damage
