// Package memkv is the model engine: a storage.Store that is small, obvious and in memory. It is the reference for
// the contract of package storage, and the store of tests that must not start background goroutines.
//
// Every key has a list of versions, the newest last; a snapshot at timestamp t sees the last version with a
// timestamp <= t. A transaction conflicts if another one has committed a write or lock of one of its keys after
// its snapshot. One mutex guards everything, and each commit is durable at once.
package memkv
