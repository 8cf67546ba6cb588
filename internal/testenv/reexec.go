package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// separator stands between the name of a test and the arguments in the variable by which Again passes them.
const separator = "\x1f"

// Again returns a command that runs the current test once more, in a process of its own. There, Arguments returns the
// given arguments. For a subtest, the whole test is run.
func Again(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	name, _, _ := strings.Cut(tb.Name(), "/")
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), child+"="+strings.Join(append([]string{name}, args...), separator))
	return cmd
}

// Arguments returns the arguments that were passed to Again, if the current process is the one that Again started for
// this test. In any other process ok is false.
func Arguments(tb testing.TB) (args []string, ok bool) {
	name, _, _ := strings.Cut(tb.Name(), "/")
	of, args, ok := Process()
	return args, ok && of == name
}

// Process returns the name of the test for which Again started this process, and its arguments; ok is false in any
// other process. It is for a TestMain that does something else than running tests.
func Process() (test string, args []string, ok bool) {
	text, ok := os.LookupEnv(child)
	all := strings.Split(text, separator)
	return all[0], all[1:], ok
}
