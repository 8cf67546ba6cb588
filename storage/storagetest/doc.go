// Package storagetest holds the tests that every engine of storage.Store runs:
//
//   - Conformance, subtests of the rules in the contract of package storage;
//   - Nemesis, concurrent transfers, counters, log readers and scans, checked for
//     the guarantees of snapshot isolation and of the log;
//   - Crash, rounds of work, power cut and check, for engines with a disk;
//   - Benchmarks, the operations that the server uses most, with CPU time.
//
// An engine's test file calls them with a function that opens an empty store.
package storagetest
