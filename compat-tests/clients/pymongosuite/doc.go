// Package pymongosuite runs the tests that PyMongo has for servers, from its source distribution, with the released
// driver of the same version.
//
// The distribution is fetched from the package index at the pinned version, checked against a hash and unpacked into
// .cache; nothing of it is in this repository. A server under test listens on two neighbouring ports, which the tests
// take for two mongos; or it reports itself as a replica set, requires logins, or uses TLS with the certificates that
// come with the tests (see runs in suite.go). A short selection runs without CANTLE_LONG; ./scripts/test --long,
// which sets it, runs all tests at night. Without Python, its venv or the package index the tests are skipped.
//
// scoreboard.txt lists the known failures, with reasons (see compat-tests/clients/scoreboard); CANTLE_LONG=1 go test
// ./compat-tests/clients/pymongosuite -rescore writes it anew. The numbers are those of one machine: on a machine
// where Python or the network can do more, fewer tests are skipped, so a row has the least number of tests that must
// pass.
//
// Not run: the asyncio twins of these tests, which send a server the same commands (the programs of
// compat-tests/clients/drivers use that half of the driver); tests without a server (BSON, URIs, mocks); client-side
// operation timeouts, which measure the client's clock; encryption, OCSP, OIDC, Kerberos, AWS, Atlas and mod_wsgi,
// which need services beside the server; and single tests that do not test the server, listed with their reasons in
// suite.go.
package pymongosuite
