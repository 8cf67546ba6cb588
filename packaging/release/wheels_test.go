package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The name of a wheel has its platform, the wheel lists its files correctly, and it is small.
func TestWheel(t *testing.T) {
	r := ready(t)
	file := filepath.Join(r.out, r.wheelName(here))
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > packedMax {
		t.Errorf("%s has %d bytes, more than %d", filepath.Base(file), info.Size(), packedMax)
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var entries []entry
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if runs := f.Mode()&0o111 != 0; runs != (f.Name == "cantle/bin/cantle") {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
		entries = append(entries, entry{name: f.Name, data: data})
	}
	last := len(entries) - 1
	if want := record("cantle-"+testVersion+".dist-info/RECORD", entries[:last]); !slices.Equal(entries[last].data, want.data) || entries[last].name != want.name {
		t.Errorf("%s:\n%swant\n%s", entries[last].name, entries[last].data, want.data)
	}
	if strings.Count(string(entries[last-1].data), "\nTag: py3-none-m") != 3 {
		t.Errorf("%s:\n%s", entries[last-1].name, entries[last-1].data)
	}
	for version, want := range map[string]string{"1.2.0": "1.2.0", "1.2.0-rc.1": "1.2.0rc1", "0.2.0-alpha.12": "0.2.0a12"} {
		if got := (&release{version: version}).pythonVersion(); got != want {
			t.Errorf("%s is %s in Python, want %s", version, got, want)
		}
	}
	for _, p := range platforms {
		if wheelTags[p] == "" {
			t.Errorf("%v has no tag", p)
		}
	}
}

// The wheel installs into an empty environment, and works with pytest (in parallel, too), with PyMongo and in
// programs.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	r := ready(t)
	p := newProject(t, "python")
	if out := p.run(t, python, "-m", "venv", "venv"); t.Failed() {
		t.Fatal(out)
	}
	program := func(name string) string { return filepath.Join(p.dir, "venv", "bin", name) }
	p.run(t, program("pip"), "install", "--quiet", "--disable-pip-version-check", filepath.Join(r.out, r.wheelName(here)), "pymongo==4.20.0", "pytest==9.2.0", "pytest-xdist==3.8.0")
	if t.Failed() {
		return
	}
	for _, command := range [][]string{{"cantle"}, {"python", "-m", "cantle"}} {
		if out := p.run(t, program(command[0]), append(command[1:], "version")...); !strings.HasPrefix(out, "cantle "+testVersion+"\n") {
			t.Errorf("%v version prints %q", command, out)
		}
	}
	t.Log(strings.TrimSpace(p.run(t, program("python"), "-W", "error", "api.py")))
	for _, c := range []struct{ args, passed string }{
		{"first", "1 passed"},
		{"test_session.py", "8 passed"},
		{"-n 2 test_session.py", "8 passed"},
		{"each", "4 passed"},
		{"--cantle-scope=function each", "4 passed"},
	} {
		if out := p.run(t, program("pytest"), strings.Fields(c.args)...); !strings.Contains(out, c.passed) {
			t.Errorf("pytest %s prints\n%s", c.args, out)
		}
	}
	if out := p.run(t, program("pytest"), "--fixtures", "test_session.py"); !strings.Contains(out, "cantle_uri [session scope]") {
		t.Errorf("pytest does not show the fixtures:\n%s", out)
	}
}
