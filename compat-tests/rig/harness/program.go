package harness

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
)

// Program is a foreign program that runs against the server, or one of ours in another language: a folder of
// a test package, and the commands that install its dependencies.
type Program struct {
	Folder  string   // beside the test
	Needs   []string // executables without which it cannot run
	Library string   // a library that pkg-config must find, for C; "" without
	Fetch   []string // shell commands that fetch dependencies, run once in the copied folder
	Build   []string // shell commands, run after Fetch
}

// Ready copies a program's folder to dir and installs what it depends on, unless that was done with the same content
// before. Errors: errors of Install.
func (p *Program) Ready(ctx context.Context, dir string) error {
	sum, err := p.copy(dir)
	if err != nil {
		return err
	}
	return Install(ctx, dir, sum, p.Fetch, p.Build)
}

// copy updates dir from the program's folder and returns a digest of what decides the installation: the commands, and
// all files but .mjs and .py (source).
func (p *Program) copy(dir string) (sum string, err error) {
	h := sha256.New()
	fmt.Fprintln(h, p.Fetch, p.Build)
	err = filepath.WalkDir(p.Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.Folder, path)
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
		// Unchanged files keep their modification time, so that nothing is compiled again.
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

// Missing returns the first prerequisite of the program that is not installed, "" if all are.
func (p *Program) Missing() string {
	for _, name := range p.Needs {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	if p.Library != "" && exec.Command("pkg-config", "--exists", p.Library).Run() != nil {
		return p.Library
	}
	return ""
}
