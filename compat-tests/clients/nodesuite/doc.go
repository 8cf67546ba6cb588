// Package nodesuite runs the tests that MongoDB's driver for Node has for servers, from its
// source at a pinned commit.
//
// The npm package has no tests, so the source is fetched from GitHub (the folders needed,
// without history) and what it depends on from the npm registry, as its lock file says; both
// go into .cache, and nothing of them is in this repository. Without Node, git, GitHub or the
// registry the tests are skipped: who cannot reach GitHub does not see them run. They take
// minutes, so that only CANTLE_LONG runs them, which ./scripts/test --long sets.
//
// A server under test listens on two addresses, which the tests take for two mongos, or shows
// itself as a replica set (see runs in suite.go). scoreboard.txt has what is known to fail,
// with reasons (see compat-tests/clients/scoreboard);
// CANTLE_LONG=1 go test ./compat-tests/clients/nodesuite -rescore writes it anew. The numbers are
// those of one machine: a row says how many pass at least.
//
// Not run: what never asks a server (test/unit); encryption, which needs a native module that
// is no part of the registry's package, and mongocryptd; load balancers, Atlas, AWS,
// Kerberos, OCSP and DNS, which need services beside the server; and single tests that say
// nothing of the server, listed with their reasons in suite.go.
package nodesuite
