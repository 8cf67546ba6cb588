// Package scoreboard installs a driver's own tests (Source), runs them against servers by their own program (Suite,
// Runner), and compares the results with a file of known results, scoreboard.txt, which is a ratchet.
//
// The file has a table of the numbers of tests that passed, failed and were skipped by the driver's runner, and a
// line with a reason for each test that fails. A run fails if a test fails that is not listed, if a listed one
// passes, or if a number differs from the table (with Scoring.Floor: if fewer tests pass). With -rescore a run writes
// the table and the list anew; new lines come without a reason and must get one by hand. With -compat 9.0 the servers answer as that release: a test
// that fails and is not listed fails the run, and the numbers of the table are not compared, because drivers skip other tests there.
package scoreboard
