// Package mongosh runs the scripts of its directory in the real shell, each against a freshly started server,
// and compares their output with the .out file of the same name.
//
// A script prints with show(value), which leaves out cluster times, and fails(() => ...), which prints the
// error's code and name. The first lines of a script may be
//
//	// server: --flag=value ...    flags for the script's server
//
// ObjectIds, UUIDs, dates and timestamps of today and ports are replaced by placeholders before the
// comparison. `go test ./compat-tests/behaviour/mongosh -rewrite` accepts new output.
//
// The shell is searched in CANTLE_MONGOSH, .cache/mongosh and the PATH. If it is absent the test fails,
// unless CANTLE_MONGOSH is "none".
package mongosh
