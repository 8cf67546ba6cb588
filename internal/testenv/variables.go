package testenv

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Names of the variables.
const (
	binary   = "CANTLE_BINARY"
	child    = "CANTLE_CHILD"
	chromium = "CANTLE_CHROMIUM"
	length   = "CANTLE_LONG"
	mongosh  = "CANTLE_MONGOSH"
	part     = "CANTLE_PART"
	seed     = "CANTLE_SEED"
	storage  = "CANTLE_STORAGE"
	uri      = "CANTLE_URI"
)

// Variable is an environment variable that tests read.
type Variable struct {
	Name    string
	Values  string // possible values, with their unit
	Default string // the behaviour if it is not set
	Purpose string
}

// Variables lists all environment variables that tests read, sorted by name. scripts/gendocs prints them into
// CONTRIBUTING.md.
var Variables = []Variable{
	{binary, "a path", "the server is built, once per test binary", "the server that suites start"},
	{child, "arguments", "none", "set by tests that run themselves again as a child process"},
	{chromium, "a path", "the one installed by `./scripts/test --only=browser`, or the one in the `PATH`", "the browser for tests of pages"},
	{length, "`1`, `nightly` or `release`", "the amount of each run", "the amount of tests. `1`: also tests that take minutes, such as canaries and ten minutes of chaos; `nightly` and `release`: these, and the amount of this column of [FAULTS.md](FAULTS.md)"},
	{mongosh, "a path, or `none`", "the one installed by `./scripts/test --only=mongosh`, or the one in the `PATH`", "the shell; `none` skips its tests where it is not installed"},
	{part, "`2/8`", "all", "only the second of eight equal parts of that amount"},
	{seed, "a number", "a new one in each run", "the seed of random choices, as printed by a failure; a test of many seeds runs only this one"},
	{storage, "see below", "memory, or a folder of the test", "the engine of the servers that suites start"},
	{uri, "a connection string", "the suite starts servers", "an existing server; tests that kill servers or set their flags are skipped"},
}

// Lengths of a run, from the shortest: the values of CANTLE_LONG.
const (
	Run     = ""
	Long    = "1"
	Nightly = "nightly"
	Release = "release"
)

// Length returns the length of this run.
func Length() string { return os.Getenv(length) }

// IsLong reports whether this run includes tests that take minutes.
func IsLong() bool { return Length() != Run }

// IsNightly reports whether this run of the tests has the amount of a night, or more.
func IsNightly() bool { return Length() == Nightly || Length() == Release }

// SetLength returns a length as an entry of an environment.
func SetLength(to string) string { return length + "=" + to }

// Seed returns the seed of CANTLE_SEED, if it is set.
func Seed(tb testing.TB) (n uint64, ok bool) {
	tb.Helper()
	text := os.Getenv(seed)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", seed, err)
	}
	return n, true
}

// Part returns the part of a test's amount that this run does, such as "2/8"; "" for all of it.
func Part() string { return os.Getenv(part) }

// SetPart returns a part as an entry of an environment.
func SetPart(to string) string { return part + "=" + to }

// Storage returns the storage engine of the servers that suites start, one of the names that the table lists; ""
// means the one that each test chooses.
func Storage() string { return os.Getenv(storage) }

// URI returns the address of the server to test, "" if suites start servers of their own.
func URI() string { return os.Getenv(uri) }

// SkipWithURI skips a test that needs a server of its own, to kill it or to set its flags, if the run tests the
// server of URI.
func SkipWithURI(tb testing.TB) {
	tb.Helper()
	if URI() != "" {
		tb.Skipf("%s is set, and this test needs servers of its own", uri)
	}
}

// Binary returns the path of the server's program to start, "" if the tests have to build it.
func Binary() string { return os.Getenv(binary) }

// Chromium returns the path of the browser for tests of pages, "" if they have to search for it.
func Chromium() string { return os.Getenv(chromium) }

// Mongosh returns the path of MongoDB's shell, "" if the tests have to search for it. If needed is false, tests are
// skipped where the shell is missing.
func Mongosh() (path string, needed bool) {
	path = strings.TrimSpace(os.Getenv(mongosh))
	if path == "none" {
		return "", false
	}
	return path, true
}
