// Package storagetest holds the tests that every engine of storage.Store runs:
//
//   - Conformance, one subtest per sentence of the contract in package storage;
//   - Nemesis, concurrent transfers, counters, log readers and scans, checked for
//     what snapshot isolation and the log promise;
//   - Crash, rounds of work, power cut and check, for engines with a disk;
//   - Benchmarks, the operations of which the server consists, with CPU time.
//
// An engine's test file calls them with a function that opens an empty store.
package storagetest
