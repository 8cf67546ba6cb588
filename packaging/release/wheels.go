package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wheelTags are the names of the platforms in Python's terms. The binaries for Linux need no library of the system,
// so any Linux is accepted; those for macOS require the oldest system that Go supports.
var wheelTags = map[platform]string{
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// pythonVersion returns the version in Python's form: 0.2.0rc1 for 0.2.0-rc.1.
func (r *release) pythonVersion() string {
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(r.version)
}

// wheelName returns the file name of the wheel for a platform.
func (r *release) wheelName(p platform) string {
	return "cantle-" + r.pythonVersion() + "-py3-none-" + wheelTags[p] + ".whl"
}

// wheels writes the packages for Python, one for each platform.
func (r *release) wheels() error {
	for _, p := range r.platforms {
		entries, err := r.wheelEntries(p)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := writeZip(&out, entries, r.date); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, r.wheelName(p)), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// wheelEntries returns the files of the Python wheel for a platform: the package with the binary, and its metadata.
// Manual: packaging.python.org, Binary distribution format.
func (r *release) wheelEntries(p platform) ([]entry, error) {
	part := func(name string) string {
		return filepath.Join(r.root, "packaging", "python", filepath.FromSlash(name))
	}
	about := "cantle-" + r.pythonVersion() + ".dist-info/"
	var out []entry
	for _, f := range []struct {
		name, from string
		mode       int64
	}{
		{"cantle/__init__.py", part("cantle/__init__.py"), 0o644},
		{"cantle/__main__.py", part("cantle/__main__.py"), 0o644},
		{"cantle/py.typed", part("cantle/py.typed"), 0o644},
		{"cantle/pytest_plugin.py", part("cantle/pytest_plugin.py"), 0o644},
		{"cantle/bin/" + p.program(), r.binary(p), 0o755},
		{about + "entry_points.txt", part("entry_points.txt"), 0o644},
		{about + "licenses/LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
		{about + "licenses/" + noticesName, r.noticesFile(), 0o644},
	} {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: f.name, data: data, mode: f.mode})
	}
	metadata, err := os.ReadFile(part("METADATA"))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(part("README.md"))
	if err != nil {
		return nil, err
	}
	metadata = append(bytes.ReplaceAll(metadata, []byte(unreleased), []byte(r.pythonVersion())), readme...)
	var tags strings.Builder
	for tag := range strings.SplitSeq(wheelTags[p], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
	}
	wheel := "Wheel-Version: 1.0\nGenerator: cantle\nRoot-Is-Purelib: false\n" + tags.String()
	out = append(out, entry{name: about + "METADATA", data: metadata, mode: 0o644}, entry{name: about + "WHEEL", data: []byte(wheel), mode: 0o644})
	return append(out, record(about+"RECORD", out)), nil
}

// record returns the file RECORD of a wheel, under name: the list of its files with their checksums and sizes.
func record(name string, entries []entry) entry {
	var out bytes.Buffer
	for _, e := range entries {
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(&out, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	fmt.Fprintf(&out, "%s,,\n", name)
	return entry{name: name, data: out.Bytes(), mode: 0o644}
}
