package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"
)

// manifestNames are the templates with the names of their results.
var manifestNames = []struct{ template, file string }{
	{"cantle.rb", "cantle.rb"},
	{"scoop.json", "cantle-scoop.json"},
	{"winget.yaml", "cantle-winget.yaml"},
}

// manifest holds the values that templates can use.
type manifest struct {
	Home, Version string
	r             *release
}

// URL returns the future address of a platform's archive.
func (m manifest) URL(p string) (string, error) {
	of, err := m.made(p)
	return m.Home + "/releases/download/v" + m.Version + "/" + m.r.archiveName(of), err
}

// Sum returns the SHA-256 of the archive of a platform.
func (m manifest) Sum(p string) (string, error) {
	of, err := m.made(p)
	if err != nil {
		return "", err
	}
	return sumOf(filepath.Join(m.r.out, m.r.archiveName(of)))
}

// Folder returns the folder in the archive of a platform.
func (m manifest) Folder(p string) (string, error) {
	of, err := m.made(p)
	return m.r.folder(of), err
}

// made returns a platform by its name.
func (m manifest) made(p string) (platform, error) {
	of, err := parsePlatforms(p)
	if err != nil {
		return platform{}, err
	}
	return of[0], nil
}

// manifests fills in the templates of the manifests for package managers (Homebrew, Scoop, winget). It does nothing
// unless all platforms were made.
func (r *release) manifests() error {
	if len(r.platforms) < len(platforms) {
		return nil
	}
	for _, n := range manifestNames {
		t, err := template.ParseFiles(filepath.Join(r.root, "packaging", "templates", n.template))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, manifest{home, r.version, r}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, n.file), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// released returns the names of the files that are published, sorted.
func (r *release) released() (out []string, err error) {
	all, err := os.ReadDir(r.out)
	for _, f := range all {
		if !f.IsDir() && f.Name() != sumsName {
			out = append(out, f.Name())
		}
	}
	slices.Sort(out)
	return out, err
}

// sumsName is the file with the checksums of all others.
const sumsName = "SHA256SUMS"

// close ends the making of a release: it writes the notes, checks the sizes of all files, and writes the checksums.
// Errors: files that are too large.
func (r *release) close() error {
	if err := r.notes(); err != nil {
		return err
	}
	if err := r.outgrown(); err != nil {
		return err
	}
	names, err := r.released()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, name := range names {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(r.out, sumsName), out.Bytes(), 0o644)
}
