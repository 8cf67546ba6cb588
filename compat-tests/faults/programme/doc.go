// Package programme is the frame of the fault programme: what is promised, which tests show
// it, how much they have to do and how much they did, and by which planted bug each was
// seen failing. FAULTS.md is printed from it.
//
//	Promises   what users are told
//	Rows       test ↔ promises ↔ counts ↔ canary
//	Due        how much a test has to do in this run
//	Tell       how much it did
//
// A row is a kind of fault. Its tests ask Due how much they have to do (each run, nightly or
// before a release) and Tell what they did: that goes into .cache/faults, a file for each test
// and column, where ./scripts/test finds it for its report. A test run changes no file that
// is committed: the counts in FAULTS.md are those of counts.txt, which
//
//	go run ./scripts/gendocs -faults
//
// renews from .cache/faults after a long run, together with the page.
//
// A canary is a bug that is planted, at build or around the store, to see that the row's
// test fails: a test of its own, which fails if nothing is found.
//
// To add a row: a row in Rows with the names of its tests, Due and Tell in them, and a canary.
//
// CANTLE_LONG says which column is due; the step soak sets nightly. CANTLE_PART divides it among runs.
package programme
