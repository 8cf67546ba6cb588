// Package memkv is the model engine: small, obvious and in memory. It is the
// reference for the contract of package storage, and is used by tests that must not
// start background goroutines.
//
// Every key has its versions, newest last; a snapshot at t sees the last version
// not above t. A transaction conflicts if a key it wrote or locked was touched
// after its snapshot. Everything is guarded by one mutex and is durable at once.
package memkv
