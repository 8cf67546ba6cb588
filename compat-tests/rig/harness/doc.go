// Package harness starts a real server for tests and connects to it in three ways: the official Go driver
// (Server.Client), a raw OP_MSG connection that sends commands as given and adds only $db (Dial), and case files of
// the verb "run" (RunCases).
//
// The server is the real binary, started with a free port and stopped with SIGTERM, or a server that a test has
// assembled in its own process (Hosted). A test fails if its server crashes, panics or exits with an error. Of the
// server's packages this package uses only bson, bson/ejson, collection/release and wire/defects: its tests see what
// a client sees.
//
// Environment:
//
//	CANTLE_BINARY   run this executable instead of building ./cmd/cantle
//	CANTLE_STORAGE  where servers keep their data; see cluster.go
//	CANTLE_URI      use this running server instead of starting one; tests that
//	                need their own process (crash, restart) are skipped
package harness
