package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// installMinutesMax bounds the installation of one client.
const installMinutesMax = 10

// fetchTriesMax is how often a dependency is asked for: registries have bad moments.
const fetchTriesMax = 3

// errFetch says that dependencies could not be fetched, which says nothing about
// the server.
var errFetch = errors.New("its dependencies could not be fetched")

// stampName is the file that says what an installed folder was installed from.
const stampName = ".installed"

// ready copies a program's folder to dir and installs what it depends on, unless
// that was done with the same content before. Its errors, among them errFetch,
// have what the commands said.
func (p *program) ready(ctx context.Context, dir string) error {
	sum, err := p.copy(dir)
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, stampName)
	if have, err := os.ReadFile(stamp); err == nil && string(have) == sum {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, installMinutesMax*time.Minute)
	defer cancel()
	for _, line := range p.fetch {
		var out string
		for range fetchTriesMax {
			if out, err = shell(ctx, dir, line, nil); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w\n%s", errFetch, line, err, out)
		}
	}
	for _, line := range p.build {
		if out, err := shell(ctx, dir, line, nil); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
	}
	return os.WriteFile(stamp, []byte(sum), 0o644)
}

// copy brings dir in step with the program's folder and returns a digest of what
// decides the installation: the commands, and the files that name dependencies.
func (p *program) copy(dir string) (sum string, err error) {
	h := sha256.New()
	fmt.Fprintln(h, p.fetch, p.build)
	err = filepath.WalkDir(p.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.folder, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !source(rel) {
			fmt.Fprintln(h, rel, len(text))
			h.Write(text)
		}
		// Unchanged files keep their time, so that nothing is compiled again.
		if have, err := os.ReadFile(target); err == nil && string(have) == string(text) {
			return nil
		}
		return os.WriteFile(target, text, 0o644)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// source reports whether a file is code that runs as it is: it can change without
// a new installation.
func source(name string) bool {
	return strings.HasSuffix(name, ".mjs") || strings.HasSuffix(name, ".py")
}

// missing returns the first thing the program needs that is not there.
func (p *program) missing() string {
	for _, name := range p.needs {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	if p.library != "" && exec.Command("pkg-config", "--exists", p.library).Run() != nil {
		return p.library
	}
	return ""
}

// shell runs a command line with everything it starts in one process group, and
// returns all it printed.
func shell(ctx context.Context, dir, line string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
