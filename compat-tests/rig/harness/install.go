package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// installMinutesMax bounds one installation.
const installMinutesMax = 10

// fetchTriesMax bounds the attempts to fetch dependencies: registries fail now and then.
const fetchTriesMax = 3

// ErrFetch reports that dependencies could not be fetched. That is no failure of the server.
var ErrFetch = errors.New("its dependencies could not be fetched")

// stampName is the name of a file in an installed folder that has the digest passed to Install: with another digest
// the folder is installed again.
const stampName = ".installed"

// Install runs shell commands in dir that fetch and build what a client depends on, unless that was done with
// the same digest before. Its errors, among them ErrFetch, contain the output of the commands.
func Install(ctx context.Context, dir, digest string, fetch, build []string) error {
	stamp := filepath.Join(dir, stampName)
	if have, err := os.ReadFile(stamp); err == nil && string(have) == digest {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, installMinutesMax*time.Minute)
	defer cancel()
	for _, line := range fetch {
		var out string
		var err error
		for range fetchTriesMax {
			if out, err = Shell(ctx, dir, line, nil); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w\n%s", ErrFetch, line, err, out)
		}
	}
	for _, line := range build {
		if out, err := Shell(ctx, dir, line, nil); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
	}
	return os.WriteFile(stamp, []byte(digest), 0o644)
}

// Shell runs a command line with everything it starts in one process group, and
// returns all it printed. env is added to our environment.
func Shell(ctx context.Context, dir, line string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
