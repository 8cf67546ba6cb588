// Package backup is the drill: several writers change documents, collections and indexes while
// partitions split, merge and get other shard keys, backups are made, and the server is killed again and
// again; then its folder is wrecked, and random moments are brought back, as whole servers and
// beside living ones, and compared with what each writer knows was there.
//
// A writer changes only its own database, one thing at a time, and notes between which
// timestamps each change was made. So at a moment its database was as after one certain
// change, or, if the moment lies while a change was on its way, before or after that.
//
//	CANTLE_LONG   if set, the canary as well; nightly: 200 moments instead of 10 (package programme)
//	CANTLE_SEED   the first seed, as a failure prints it
package backup
