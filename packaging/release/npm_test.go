package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programMax is the maximum size of packages without a binary.
const programMax = 32 << 10

// packageJSON holds the fields of a package that the tests read.
type packageJSON struct {
	Name, Version        string
	OS, CPU              []string
	Scripts              map[string]string
	Dependencies         map[string]string
	OptionalDependencies map[string]string
}

// npmTarballs returns the packages that this machine installs.
func npmTarballs(t *testing.T, r *release) (out []string) {
	t.Helper()
	system, processor := npmPlatform(here)
	for _, name := range []string{npmScope + "/" + system + "-" + processor, "cantle", "cantle-memory-server"} {
		out = append(out, filepath.Join(r.out, r.npmName(name)))
	}
	return out
}

// The npm packages have this version, and cantle requires in it the binaries of all platforms; they run nothing when
// they are installed, and are small.
func TestNpmPackages(t *testing.T) {
	r := ready(t)
	for i, file := range npmTarballs(t, r) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		most := programMax
		if i == 0 {
			most = packedMax
		}
		if len(data) > most {
			t.Errorf("%s has %d bytes, more than %d", filepath.Base(file), len(data), most)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		unpack(t, z, dir)
		text, err := os.ReadFile(filepath.Join(dir, "package", "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		var about packageJSON
		if err := json.Unmarshal(text, &about); err != nil {
			t.Fatal(err)
		}
		if about.Version != testVersion || len(about.Scripts) > 0 || strings.Contains(string(text), unreleased) {
			t.Errorf("%s", text)
		}
		for _, name := range []string{"LICENSE", "README.md"} {
			if !exists(dir, "package", name) {
				t.Errorf("%s has no %s", file, name)
			}
		}
		if i == 0 {
			if len(about.OS) != 1 || len(about.CPU) != 1 {
				t.Errorf("%s is for any platform", file)
			}
			continue
		}
		if i == 1 {
			var want []string
			for _, p := range platforms {
				system, processor := npmPlatform(p)
				want = append(want, npmScope+"/"+system+"-"+processor)
			}
			for _, name := range want {
				if about.OptionalDependencies[name] != testVersion {
					t.Errorf("cantle has no optional dependency %s in this version", name)
				}
			}
			if len(about.OptionalDependencies) != len(want) {
				t.Errorf("%v for %v", about.OptionalDependencies, want)
			}
		}
	}
}

// somebodysProject is a user's project for a test: an empty folder filled with the project's files from testdata, and
// a folder of its own for temporary files.
type somebodysProject struct {
	dir, temp string
	env       []string // besides that of the tests
}

func newProject(t *testing.T, from string) somebodysProject {
	t.Helper()
	p := somebodysProject{dir: t.TempDir(), temp: t.TempDir()}
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("testdata", from))); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a program in the user's project, and returns the program's output. The CANTLE_ variables of the test run
// are removed, because the environment of a user has none.
func (p somebodysProject) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = p.dir
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CANTLE_") })
	cmd.Env = append(append(env, "TMPDIR="+p.temp, "CI=1", "NO_COLOR=1"), p.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A user's project installs the npm packages beside Mongoose, the driver, Jest, Vitest and TypeScript, and uses them.
func TestNpm(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not here")
	}
	tarballs := npmTarballs(t, ready(t))
	p := newProject(t, "npm")
	p.run(t, "npm", npmInstall(tarballs...)...)
	if t.Failed() {
		return
	}
	program := func(name string) string { return filepath.Join("node_modules", ".bin", name) }
	if out := p.run(t, program("cantle"), "version"); !strings.HasPrefix(out, "cantle "+testVersion+"\n") {
		t.Errorf("cantle version prints %q", out)
	}
	out := p.run(t, "node", "--test", "--test-reporter=spec", "api.test.mjs", "leaks.test.mjs")
	for line := range strings.Lines(out) {
		if strings.Contains(line, "create() takes") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if out := p.run(t, "node", "first.mjs"); out != "1\n" {
		t.Errorf("the first program prints %s", out)
	}
	for runner, passed := range map[string]string{"jest": "Tests:       4 passed, 4 total", "vitest": "Tests  2 passed (2)"} {
		args := []string{}
		if runner == "vitest" {
			args = append(args, "run")
		}
		if out := p.run(t, program(runner), args...); !strings.Contains(out, passed) {
			t.Errorf("%s prints\n%s", runner, out)
		}
	}
	p.run(t, program("tsc"), "--noEmit", "--strict", "--module", "nodenext", "--target", "esnext", "--lib", "esnext", "--types", "node", "types.ts")
}
