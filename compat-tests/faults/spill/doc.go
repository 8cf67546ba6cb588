// Package spill sorts and groups more than the server may hold in memory: the answers
// are right, the process stays small, and nothing is left on the disk when it is killed.
//
//	CANTLE_LONG   nightly: two gigabytes instead of a hundred megabytes
package spill
