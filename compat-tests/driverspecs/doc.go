// Package driverspecs runs the tests that MongoDB's Go driver has for servers:
// the drivers' unified specification files (sessions, retryable reads and
// writes, transactions, change streams, …) through the driver's own runner, and
// its prose tests of the same subjects.
//
// The driver's module is fetched from the module proxy at the pinned version and
// compiled where the Go tool keeps it; nothing of it is in this repository. The
// server under test listens on two addresses, so that it looks like two mongos.
//
// scoreboard.txt is a ratchet. It has a table of what passed, failed and was
// skipped by the runner, and a line with a reason for each test that fails. A
// failure that is not listed fails the run, and so does a listed one that passes,
// and a number that is not the table's. After looking at the reasons,
//
//	go test ./compat-tests/driverspecs -rescore
//
// writes the table and the list anew; new lines come without a reason and must
// get one by hand.
//
// Not run: client-side-operations-timeout and connection monitoring, which
// measure the client's clock; client-side encryption, Atlas Data Lake and search
// indexes, which need services beside the server; server selection logging,
// which says nothing of the server.
package driverspecs
