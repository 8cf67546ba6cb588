package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// siblings lists the modules of the repository that each module may require. The list is short, because an importer
// of a module inherits all of its requirements.
var siblings = map[string][]string{
	rootModule:                     nil,
	rootModule + "/storage/tikvkv": {rootModule},
	rootModule + "/cmd/cantle":     {rootModule, rootModule + "/storage/tikvkv"},
	rootModule + "/compat-tests":   {rootModule, rootModule + "/cmd/cantle", rootModule + "/storage/tikvkv"},
	rootModule + "/scripts":        {rootModule, rootModule + "/cmd/cantle", rootModule + "/compat-tests", rootModule + "/storage/tikvkv"},
}

// Each module of the repository is found under its path, replaces nothing, and requires only allowed modules of the
// repository, all by one version, which go.work replaces by the folders. A library has the same version in all
// modules.
func TestWorkspace(t *testing.T) {
	w, err := readWorkspace("../..")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	ties, libraries := map[string]bool{}, map[string]string{}
	for _, m := range w.modules {
		paths = append(paths, m.path)
		if want := strings.TrimSuffix(rootModule+"/"+m.folder, "/."); m.path != want {
			t.Errorf("the module in %s is %s, and fetched as %s", m.folder, m.path, want)
		}
		for r := range m.replaced {
			t.Errorf("%s replaces %s: go install of a module that replaces something is refused", m.path, r)
		}
		for _, r := range m.requires {
			if w.has(r.Path) {
				ties[r.Version] = true
				if !slices.Contains(siblings[m.path], r.Path) {
					t.Errorf("%s requires %s", m.path, r.Path)
				}
			} else if v := libraries[r.Path]; v != "" && v != r.Version {
				t.Errorf("%s has the versions %s and %s: run go run ./scripts/modules", r.Path, v, r.Version)
			} else {
				libraries[r.Path] = r.Version
			}
		}
	}
	slices.Sort(paths)
	if want := slices.Sorted(maps.Keys(siblings)); !slices.Equal(paths, want) {
		t.Errorf("go.work has %q, want %q", paths, want)
	}
	if len(ties) != 1 {
		t.Errorf("modules require each other by the versions %q: run go run ./scripts/modules -version", slices.Sorted(maps.Keys(ties)))
	}
	for _, r := range w.replaced {
		if !w.has(r.Path) || !ties[r.Version] {
			t.Errorf("go.work replaces %s %s", r.Path, r.Version)
		}
	}
	if len(w.replaced) != len(w.modules) {
		t.Errorf("go.work replaces %d modules of %d", len(w.replaced), len(w.modules))
	}
}

// In a small workspace, a version is written into all files, and unneeded requirements are removed.
func TestTie(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.work":      "go 1.26.0\n\nuse (\n\t.\n\t./sub\n)\n\nreplace a.example/m v0.0.0 => ./\n\nreplace a.example/m/sub v0.0.0 => ./sub\n",
		"go.mod":       "module a.example/m\n\ngo 1.26.0\n",
		"m.go":         "package m\n",
		"sub/go.mod":   "module a.example/m/sub\n\ngo 1.26.0\n\nrequire (\n\ta.example/m v0.0.0\n\ta.example/m/gone v0.0.0\n)\n",
		"sub/sub.go":   "package sub\n\nimport _ \"a.example/m\"\n",
		"gone/go.mod":  "module a.example/m/gone\n\ngo 1.26.0\n",
		"gone/gone.go": "package gone\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOPROXY", "off")
	t.Chdir(dir)
	if err := errors.Join(exec.Command("go", "work", "use", "./gone").Run(), run("v1.2.3", nil)); err != nil {
		t.Fatal(err)
	}
	w, err := readWorkspace(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range w.modules {
		if want := map[string][]requirement{"sub": {{Path: "a.example/m", Version: "v1.2.3"}}}[m.folder]; !slices.Equal(m.requires, want) || len(m.replaced) > 0 {
			t.Errorf("%s requires %v, want %v", m.path, m.requires, want)
		}
	}
	for _, r := range w.replaced {
		if r.Version != "v1.2.3" {
			t.Errorf("go.work replaces %v", r)
		}
	}
	if err := run("1.2", nil); err == nil {
		t.Error("1.2 is taken for a version")
	}
}

// foreign are prefixes of the paths of modules that importers of the server do not need: TiKV's client and its
// libraries, and the libraries of the tests. Some modules with similar names are absent from the list, because the
// go.mod of a needed library has them: older etcd in bluge's, gRPC in several.
var foreign = []string{
	rootModule + "/", "github.com/anishathalye/porcupine", "github.com/chromedp/", "github.com/gobwas/",
	"github.com/pingcap/failpoint", "github.com/pingcap/goleveldb", "github.com/pingcap/kvproto", "github.com/pingcap/log", "github.com/tikv/",
	"go.etcd.io/", "go.uber.org/zap", "honnef.co/",
}

// importedMax is the maximum number of modules in the module graph of an importer of the server. Most of these
// modules provide no package: they are in the go.mod files of libraries' libraries, which graph pruning omits only
// for modules of Go 1.17 or newer.
const importedMax = 220

// A user's module with a test of an embedded server has in its go.mod, and in the module graph, no module of TiKV's
// client and none of the test rig.
func TestImporter(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w, err := readWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(w.modules, func(m module) bool { return m.path == rootModule })
	direct, listed := 0, map[string]bool{}
	for _, r := range w.modules[i].requires {
		listed[r.Path] = true
		if !r.Indirect {
			direct++
		}
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":       "module somebody.example/shop\n\ngo 1.26.0\n\nrequire " + rootModule + " v0.0.0\n\nreplace " + rootModule + " => " + root + "\n",
		"go.sum":       string(sums),
		"shop_test.go": "package shop\n\nimport (\n\t_ \"" + rootModule + "\"\n\t_ \"" + rootModule + "/cantletest\"\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	importer := func(args ...string) []string {
		t.Helper()
		return strings.Fields(string(askIn(t, dir, []string{"GOWORK=off", "GOFLAGS=", "GOPROXY=" + os.Getenv("GOPROXY")}, args...)))
	}
	importer("mod", "tidy")
	graph := importer("list", "-m", "-f", "{{.Path}}", "all")
	linked := importer("list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
	slices.Sort(linked)
	linked = slices.Compact(linked)
	for _, list := range [][]string{graph, linked, slices.Sorted(maps.Keys(listed))} {
		for _, path := range list {
			if slices.ContainsFunc(foreign, func(f string) bool { return strings.HasPrefix(path, f) }) {
				t.Errorf("an importer inherits %s", path)
			}
		}
	}
	for _, path := range linked {
		if path == "google.golang.org/grpc" || strings.HasPrefix(path, "github.com/pingcap/") {
			t.Errorf("an importer links %s", path)
		}
	}
	if len(graph) > importedMax || !slices.Contains(linked, "github.com/cockroachdb/pebble/v2") {
		t.Errorf("an importer's graph has %d modules, at most %d are expected, and he links %q", len(graph), importedMax, linked)
	}
	t.Logf("%d modules in an importer's graph, %d linked; %d requirements of the root module, %d of them direct", len(graph), len(linked), len(listed), direct)
}
