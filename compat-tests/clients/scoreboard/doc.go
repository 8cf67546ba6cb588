// Package scoreboard runs a driver's own tests against servers (Suite) and compares the
// results with a file of what they are known to do, scoreboard.txt, which is a ratchet.
//
// The file has a table of what passed, failed and was skipped by the driver's runner,
// and a line with a reason for each test that fails. A failure that is not listed
// fails the run, and so does a listed one that passes, and a number that is not the
// table's. With -rescore a run writes the table and the list anew; new lines come
// without a reason and must get one by hand.
package scoreboard
