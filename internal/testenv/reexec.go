package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// separator stands between the name of a test and the arguments of its process.
const separator = "\x1f"

// Again returns a command that runs the test once more, as a process of its own, in which Arguments
// returns these arguments. Subtests run their whole test again.
func Again(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	name, _, _ := strings.Cut(tb.Name(), "/")
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), child+"="+strings.Join(append([]string{name}, args...), separator))
	return cmd
}

// Arguments returns the arguments of Again in the process that it started for this test. Anywhere else ok is
// false.
func Arguments(tb testing.TB) (args []string, ok bool) {
	name, _, _ := strings.Cut(tb.Name(), "/")
	of, args, ok := Process()
	return args, ok && of == name
}

// Process returns the name of the test for which Again started this process, for a TestMain that does
// something else than running tests.
func Process() (test string, args []string, ok bool) {
	text, ok := os.LookupEnv(child)
	all := strings.Split(text, separator)
	return all[0], all[1:], ok
}
