// Package backup is a disaster drill. Several writers change documents, collections and indexes while partitions
// split, collections get other shard keys, backups are made, and the server is killed repeatedly. Then the server's
// folder is destroyed. Random moments are restored, as whole servers and into running ones, and compared with what
// each writer has recorded.
//
// A writer changes only its own database, one change at a time, and records the timestamps between which each
// change was made. So at a moment its database was in the state after a certain change, or, if the moment
// lies within a change, in the state before or after that change.
//
//	CANTLE_LONG   if set, the canary as well; nightly: 200 moments instead of 10 (package programme)
//	CANTLE_SEED   the first seed, as a failure prints it
package backup
