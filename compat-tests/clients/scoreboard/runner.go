package scoreboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Runner runs a driver's tests against one server, by a program such as mocha or pytest that writes a report.
type Runner struct {
	Name    string        // of the program, for messages
	Limit   time.Duration // of one run
	Dir     string        // working directory
	Program string        // a path, absolute or relative to Dir, or a name in the PATH
	// Args returns the arguments of the program: it writes its report to the file report, and runs only the test with
	// the name only, or all if only is "".
	Args func(report, only string) []string
	Env  []string // besides the variables that every program needs
	// Statuses are the exit statuses besides 0 that mean that the run of the program was complete; nil ignores the
	// status.
	Statuses []int
	// Parse reads the results of the tests from a report of the program. If no test ran, the result is empty.
	Parse func(report []byte) (Results, error)
}

// Run runs all tests or, if only is not "", the test with that name, and returns their results.
// Errors: the program did not complete; the report cannot be read; no test ran.
func (r Runner) Run(ctx context.Context, only string) (map[string]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	temp, err := os.MkdirTemp("", "scoreboard-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	report := filepath.Join(temp, "report")
	cmd := exec.CommandContext(ctx, r.Program, r.Args(report, only)...)
	cmd.Dir = r.Dir
	// The program gets only the environment variables that it needs: a driver sends the server information about
	// clouds and containers that it finds there, and the tests have settings of their own.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + temp}, r.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, ended := cmd.CombinedOutput()
	text, err := os.ReadFile(report)
	if err != nil || !r.completed(ended) {
		return nil, fmt.Errorf("%s: %w\n%s", r.Name, errors.Join(ended, err), Tail(string(out)))
	}
	results, err := r.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the report of %s: %w", r.Name, err)
	case len(results) == 0:
		return nil, fmt.Errorf("%s ran no tests", r.Name)
	}
	return results, nil
}

// completed reports whether the error with which the program ended is that of a complete run.
func (r Runner) completed(ended error) bool {
	if ended == nil || r.Statuses == nil {
		return true
	}
	var exit *exec.ExitError
	return errors.As(ended, &exit) && slices.Contains(r.Statuses, exit.ExitCode())
}

// Tail returns the last 4000 bytes of a program's output or of a failure's text, for an error message.
func Tail(s string) string { return s[max(0, len(s)-4000):] }

// Results holds the results of a run by the names of the tests.
type Results map[string]Result

// Add adds an entry of a report to the results. If several entries have one name and one of them failed, the test
// counts as failed.
func (r Results) Add(name, outcome string, said ...string) {
	if before := r[name]; before.Outcome == Failed {
		outcome, said = Failed, append(before.Said, said...)
	}
	r[name] = Result{Outcome: outcome, Said: said}
}
