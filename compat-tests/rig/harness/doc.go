// Package harness starts a real server for tests and talks to it in three ways:
// the official Go driver (Server.Client), a raw OP_MSG connection that sends
// exactly the bytes it is given (Dial), and case files of the verb "run" (RunCases).
//
// The server is the real binary, started with a free port and stopped with
// SIGTERM, or one that a test has assembled itself in its process (Hosted); a test that leaves a crash, a panic or a non-zero exit behind fails.
// Nothing in here reaches into the server's packages except bson/ejson, the
// notation of the case files: what these tests see is what a client sees.
//
// Environment:
//
//	CANTLE_BINARY   run this executable instead of building ./cmd/cantle
//	CANTLE_URI      use this running server instead of starting one; tests that
//	                need their own process (crash, restart) are skipped
package harness
