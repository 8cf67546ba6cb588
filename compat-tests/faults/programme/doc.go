// Package programme is the frame of the fault programme: the promises to users, the tests that check them,
// how much each test has to do and did, and the planted bug with which each was seen to fail. FAULTS.md is
// generated from it.
//
//	Promises      what the server promises users
//	Rows          test ↔ promises ↔ counts ↔ canary
//	Amount        how much a test has to do in this run
//	RecordAtEnd   how much it did
//
// A row is a kind of fault. The tests of a row get from Amount how many faults they have to do (in each run, nightly
// or before a release), and report by RecordAtEnd how many they did. The reports go into .cache/faults, a file for
// each test, column and part, from which ./scripts/test makes its own report. A test run changes no committed file:
// the counts in FAULTS.md are those of counts.txt, which
//
//	go run ./scripts/gendocs -faults
//
// renews from .cache/faults after a long run, together with FAULTS.md.
//
// A canary is a planted bug, at build or around the store, that must make the row's test fail. It is a test
// of its own, which fails if the bug is not found.
//
// To add a row, add it to Rows with the names of its tests, call Amount and RecordAtEnd in these tests, and add a
// canary.
//
// CANTLE_LONG selects the column; the step soak sets nightly. CANTLE_PART divides a column among runs.
package programme
