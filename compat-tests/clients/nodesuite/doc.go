// Package nodesuite runs the tests that MongoDB's driver for Node has for servers, from its source at a
// pinned commit.
//
// The npm package has no tests, so the source is fetched from GitHub (the folders needed, without history)
// and its dependencies from the npm registry, as its lock file pins them; both go into .cache, and nothing of
// them is in this repository. Without Node, git, GitHub or the registry the tests are skipped. They take
// minutes, so that only CANTLE_LONG runs them, which ./scripts/test --long sets.
//
// A server under test listens on two addresses, which the tests take for two mongos, or reports itself as a
// replica set (see runs in suite.go). scoreboard.txt lists the known failures, with reasons (see
// compat-tests/clients/scoreboard); CANTLE_LONG=1 go test ./compat-tests/clients/nodesuite -rescore writes it
// anew. The numbers are those of one machine: a row has the least number of tests that must pass.
//
// Not run: tests without a server (test/unit); encryption, which needs a native module that is no part of the
// registry's package, and mongocryptd; load balancers, Atlas, AWS, Kerberos, OCSP and DNS, which need
// services beside the server; and single tests that do not test the server, listed with their reasons in
// suite.go.
package nodesuite
