// Package driverspecs runs the tests that MongoDB's Go driver has for servers: the drivers' unified specification
// files (sessions, retryable reads and writes, transactions, change streams, time limits, discovery, …) through the
// driver's own runner, and its prose tests of the same subjects.
//
// The driver's module is fetched from the module proxy at the pinned version and compiled in the module cache;
// nothing of it is in this repository. All tests run twice: against a server that listens on two addresses, so that
// it looks like two mongos, and against a server that reports itself as a replica set. Tests that require a login run
// against a server with users, and tests about load balancers run behind one.
//
// Each of these topologies has a scoreboard, which lists the known failures, with reasons (see
// compat-tests/clients/scoreboard); go test ./compat-tests/clients/driverspecs -rescore writes them anew. topology.go
// lists the tests that are left out, with reasons.
//
// Not run: client-side encryption and Atlas Data Lake, which need services beside the server; logging of server
// selection and of commands, handshake metadata and custom dialers, which do not test the server; TestClientStress,
// which overloads it.
package driverspecs
