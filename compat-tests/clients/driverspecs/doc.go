// Package driverspecs runs the tests that MongoDB's Go driver has for servers:
// the drivers' unified specification files (sessions, retryable reads and
// writes, transactions, change streams, time limits, discovery, …) through the
// driver's own runner, and its prose tests of the same subjects.
//
// The driver's module is fetched from the module proxy at the pinned version and
// compiled where the Go tool keeps it; nothing of it is in this repository. All of
// it runs twice: against a server that listens on two addresses, so that it looks
// like two mongos, and against one that is shown as a replica set; what asks for a
// login runs against one with users, and what is about load balancers behind one.
//
// The scoreboards, one for each, have what is known to fail, with reasons (see
// compat-tests/clients/scoreboard); go test ./compat-tests/clients/driverspecs -rescore writes them
// anew. What is left out stands in topology.go, with reasons.
//
// Not run: client-side encryption and Atlas Data Lake, which need services beside
// the server; logging of server selection and of commands, handshake metadata and
// custom dialers, which say nothing of the server; TestClientStress, which loads it.
package driverspecs
