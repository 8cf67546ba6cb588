// Package driverspecs runs the tests that MongoDB's Go driver has for servers:
// the drivers' unified specification files (sessions, retryable reads and
// writes, transactions, change streams, …) through the driver's own runner, and
// its prose tests of the same subjects.
//
// The driver's module is fetched from the module proxy at the pinned version and
// compiled where the Go tool keeps it; nothing of it is in this repository. The
// server under test listens on two addresses, so that it looks like two mongos.
//
// scoreboard.txt has what is known to fail, with reasons (see compat-tests/scoreboard);
// go test ./compat-tests/driverspecs -rescore writes it anew.
//
// Not run: client-side-operations-timeout and connection monitoring, which
// measure the client's clock; client-side encryption, Atlas Data Lake and search
// indexes, which need services beside the server; server selection logging,
// which says nothing of the server.
package driverspecs
