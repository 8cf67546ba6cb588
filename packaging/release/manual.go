package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// manualFolder is the folder of the man pages and the shell completions.
const manualFolder = "manual"

// manual prints the man pages, plain and compressed as packages contain them, and the shell completions. The program
// that prints them is built with the settings of the binaries, so that little must be compiled for it.
func (r *release) manual() error {
	dir := filepath.Join(r.out, manualFolder)
	_, err := r.command(r.plainBuild(), "go", "run", "-trimpath", "-buildvcs=false", "./scripts/gendocs",
		"-man", dir, "-version", r.version, "-date", r.date.Format(time.DateOnly))
	if err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man", "*.1"))
	if err != nil {
		return err
	}
	r.pages = nil
	for _, page := range pages {
		r.pages = append(r.pages, filepath.Base(page))
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(page+".gz", out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualEntries returns the man pages and completions that the archive of a platform contains: for Windows, only the
// completion of PowerShell.
func (r *release) manualEntries(p platform) (out []entry, err error) {
	names := []string{"completions/cantle.ps1"}
	if p.os != "windows" {
		names = []string{"completions/cantle.bash", "completions/cantle.fish", "completions/cantle.zsh"}
		for _, page := range r.pages {
			names = append(names, "man/"+page)
		}
	}
	folders := map[string]bool{}
	for _, name := range names {
		folder, _, _ := strings.Cut(name, "/")
		if !folders[folder] {
			folders[folder] = true
			out = append(out, entry{name: path.Join(r.folder(p), folder) + "/", mode: 0o755})
		}
		data, err := os.ReadFile(filepath.Join(r.out, manualFolder, name))
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: path.Join(r.folder(p), name), data: data, mode: 0o644})
	}
	return out, nil
}
