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

// Variables are all variables, sorted by name. scripts/gendocs prints them into CONTRIBUTING.md.
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

// IsNightly reports whether this run has the length of a night, or more.
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

// Part returns the part of its amount that this run does, "" for all of it.
func Part() string { return os.Getenv(part) }

// SetPart returns a part as an entry of an environment.
func SetPart(to string) string { return part + "=" + to }

// Storage returns the storage of the servers of this run, "" for that of each test.
func Storage() string { return os.Getenv(storage) }

// URI returns the address of the server to test, "" if suites start their own.
func URI() string { return os.Getenv(uri) }

// SkipWithURI skips a test that needs a server of its own: to kill it, or with flags.
func SkipWithURI(tb testing.TB) {
	tb.Helper()
	if URI() != "" {
		tb.Skipf("%s is set, and this test needs servers of its own", uri)
	}
}

// Binary returns the path of the server to start, "" if it has to be built.
func Binary() string { return os.Getenv(binary) }

// Chromium returns the path of the browser, "" if it has to be searched.
func Chromium() string { return os.Getenv(chromium) }

// Mongosh returns the path of the shell, "" if it has to be searched. With needed=false, tests that lack it
// are skipped.
func Mongosh() (path string, needed bool) {
	path = strings.TrimSpace(os.Getenv(mongosh))
	if path == "none" {
		return "", false
	}
	return path, true
}
