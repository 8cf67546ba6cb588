// Package memkv is the model engine: small, obvious and in memory. It says what
// the contract of package storage means where another engine is in doubt, and
// serves tests that must not start background goroutines.
//
// Every key has its versions, newest last; a snapshot at t sees the last version
// not above t. A transaction conflicts if a key it wrote or locked was touched
// after its snapshot. Everything lies under one mutex and is durable at once.
package memkv
