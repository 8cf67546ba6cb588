package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unreleased is the version in the sources of the packages for npm and Python; a release replaces it by its own
// version.
const unreleased = "0.0.0-unreleased"

// npmParts are the npm packages written in JavaScript: for each, its folder in packaging/npm, its name, and the file
// that is installed as a program ("" for none).
var npmParts = []struct{ folder, name, program string }{
	{"cantle", "cantle", "cantle.js"},
	{"memory-server", "cantle-memory-server", "cli.js"},
}

// npmScope holds the packages with the binaries, one for each platform.
const npmScope = "@cantledb"

// npmPlatform returns a platform in Node's terms.
func npmPlatform(p platform) (system, processor string) {
	system, processor = p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system, processor
}

// npmName returns the file name of an npm package of this release, as `npm pack` would choose it.
func (r *release) npmName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + r.version + ".tgz"
}

// npm makes the files of the npm packages, in the form that `npm publish` uploads.
func (r *release) npm() error {
	for _, part := range npmParts {
		entries, err := r.npmSources(part.folder, part.program)
		if err != nil {
			return err
		}
		if err := r.npmPack(part.name, entries); err != nil {
			return err
		}
	}
	for _, p := range r.platforms {
		system, processor := npmPlatform(p)
		name := npmScope + "/" + system + "-" + processor
		entries, err := r.npmBinary(p, name, system, processor)
		if err != nil {
			return err
		}
		if err := r.npmPack(name, entries); err != nil {
			return err
		}
	}
	return nil
}

// npmSources returns the files of an npm package written in JavaScript, with the version of this release.
func (r *release) npmSources(folder, program string) ([]entry, error) {
	from := os.DirFS(filepath.Join(r.root, "packaging", "npm", folder))
	var out []entry
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if name == "package.json" {
			data = bytes.ReplaceAll(data, []byte(unreleased), []byte(r.version))
		}
		mode := int64(0o644)
		if name == program {
			mode = 0o755
		}
		out = append(out, entry{name: name, data: data, mode: mode})
		return err
	})
	return out, err
}

// npmBinary returns the files of the npm package that contains the binary of one platform.
func (r *release) npmBinary(p platform, name, system, processor string) ([]entry, error) {
	about, err := json.MarshalIndent(map[string]any{
		"name": name, "version": r.version, "description": "The binary of cantle for " + p.String(), "license": "Apache-2.0",
		"homepage": home, "repository": map[string]string{"type": "git", "url": "git+" + home + ".git"},
		"os": []string{system}, "cpu": []string{processor}, "preferUnplugged": true,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(r.binary(p))
	if err != nil {
		return nil, err
	}
	notices, err := os.ReadFile(r.noticesFile())
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "packaging", "npm", "platform", "README.md"))
	return []entry{
		{name: "package.json", data: append(about, '\n'), mode: 0o644},
		{name: "README.md", data: readme, mode: 0o644},
		{name: noticesName, data: notices, mode: 0o644},
		{name: "bin/" + p.program(), data: binary, mode: 0o755},
	}, err
}

// npmPack writes the file of an npm package: an archive whose only folder is named package, with the given files and
// the licence.
func (r *release) npmPack(name string, entries []entry) error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	entries = append(entries, entry{name: "LICENSE", data: licence, mode: 0o644})
	for i := range entries {
		entries[i].name = path.Join("package", entries[i].name)
	}
	var out bytes.Buffer
	if err := writeTarGz(&out, entries, r.date); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, r.npmName(name)), out.Bytes(), 0o644)
}
