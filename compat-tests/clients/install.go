package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// ready copies a program's folder to dir and installs what it depends on, unless
// that was done with the same content before. Errors: as harness.Install.
func (p *program) ready(ctx context.Context, dir string) error {
	sum, err := p.copy(dir)
	if err != nil {
		return err
	}
	return harness.Install(ctx, dir, sum, p.fetch, p.build)
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
