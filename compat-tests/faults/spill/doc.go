// Package spill tests a server that sorts and groups more than it may hold in memory: the results must be right,
// the process must stay small, and a killed server must leave no files behind.
//
//	CANTLE_LONG   nightly: two gigabytes instead of a hundred megabytes
package spill
