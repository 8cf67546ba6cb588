package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// goZipMax is the maximum size in bytes of the zip file of the root module, which `go get` downloads.
const goZipMax = 16 << 20

// fetchable writes a module of the repository, as of a commit, into the folder proxy in the form of a Go module
// proxy, so that a test fetches the module as a user would. It returns the path of the zip file.
func fetchable(t *testing.T, proxy, clone, commit, folder, version string) (zipped string) {
	t.Helper()
	path := strings.TrimSuffix(ours+"/"+folder, "/")
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v", version)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(at + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := zip.CreateFromVCS(out, module.Version{Path: path, Version: version}, clone, commit, folder); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(clone, folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		at + ".mod": mod, at + ".info": []byte(`{"Version": "` + version + `"}`), filepath.Join(filepath.Dir(at), "list"): []byte(version + "\n"),
	} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return at + ".zip"
}

// A user's module can import the server and cantletest, fetched as `go get` fetches them, and its test links neither
// the client of TiKV nor the test rig. Only long runs compile and run that test.
func TestGoModule(t *testing.T) {
	r, err := newRelease("../..", testVersion, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	version := module.Version{Path: ours, Version: "v" + testVersion}
	file := fetchable(t, t.TempDir(), r.clone(t), r.commit, "", version.Version)
	info, err := os.Stat(file)
	if err != nil || info.Size() > goZipMax {
		t.Errorf("the module has %d bytes, more than %d; %v", info.Size(), goZipMax, err)
	}
	fetched := filepath.Join(r.out, "fetched")
	if err := zip.Unzip(fetched, version, file); err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "go")
	if err := os.WriteFile(filepath.Join(p.dir, "go.mod"), somebodysModule(t, fetched, version), 0o644); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(fetched, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "go.sum"), sums, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	t.Setenv("CGO_ENABLED", "0") // as the release, whose libraries are compiled already
	t.Setenv("GOWORK", "off")
	if os.Getenv("CANTLE_LONG") != "" { // it compiles everything of ours again, under another path
		if out := p.run(t, "go", "test", "-count=1", "-vet=off", "./..."); !strings.HasPrefix(out, "ok") {
			t.Errorf("go test says\n%s", out)
		}
	}
	// The client of TiKV belongs to the program, and the libraries of the test rig to the repository's own tests:
	// neither is linked into a user's test.
	packages := strings.Fields(p.run(t, "go", "list", "-deps", "-test", "./..."))
	for _, path := range packages {
		for _, foreign := range []string{"github.com/tikv/", "github.com/pingcap/", "google.golang.org/grpc", "github.com/chromedp/", "github.com/cantledb/cantle/compat-tests/"} {
			if strings.HasPrefix(path, foreign) {
				t.Errorf("a test with an embedded server links %s", path)
			}
		}
	}
	if !slices.Contains(packages, version.Path+"/storage/pebblekv") {
		t.Errorf("%d packages are linked, and not the engine on files", len(packages))
	}
}

// The packages that `go install` would link, without go.work, are of the same modules and versions as those of the
// released program. So the requirements of the modules in subfolders are complete, and no other module of the workspace
// raises a version. Only long runs also install and start the program.
func TestGoInstall(t *testing.T) {
	r := ready(t)
	clone, proxy := r.clone(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(clone, "cmd", "cantle", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(program.Require, func(m *modfile.Require) bool { return m.Mod.Path == ours })
	version := program.Require[i].Mod.Version
	for _, folder := range []string{"", "storage/tikvkv", "cmd/cantle"} {
		fetchable(t, proxy, clone, r.commit, folder, version)
	}
	cache, err := r.command(nil, "go", "env", "GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := r.command(nil, "go", "env", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := append(r.buildFor(here), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GOSUMDB=off", "GOMODCACHE="+filepath.Join(dir, "cache"), "GOBIN="+dir,
		"GOPROXY=file://"+proxy+",file://"+cache+"/cache/download,"+upstream)
	somebodys := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(somebodys, []byte("module somebody.example/tools\n\ngo "+program.Go.Version+"\n\nrequire "+ours+"/cmd/cantle "+version+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	listed, err := r.command(env, "go", "list", "-C", dir, "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", ours+"/cmd/cantle")
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(r.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ours + " " + version, ours + "/cmd/cantle " + version, ours + "/storage/tikvkv " + version}
	for _, m := range libraries(info) {
		want = append(want, m.Path+" "+m.Version)
	}
	got := strings.Split(listed, "\n")
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.DeleteFunc(slices.Compact(got), func(s string) bool { return s == "" }); !slices.Equal(got, want) {
		t.Errorf("go install links\n%s\nand the released program is made of\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if os.Getenv("CANTLE_LONG") == "" {
		return // because it compiles everything of ours
	}
	if _, err := r.command(env, "go", "install", ours+"/cmd/cantle@"+version); err != nil {
		t.Fatal(err)
	}
	if out, err := r.command(nil, filepath.Join(dir, here.program()), "version"); err != nil || !strings.HasPrefix(out, "cantle ") {
		t.Errorf("what was installed says %q, %v", out, err)
	}
}

// somebodysModule returns the go.mod of a user's module that requires the fetched root module, and the driver.
func somebodysModule(t *testing.T, fetched string, version module.Version) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fetched, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	required := []module.Version{version}
	for _, m := range ours.Require {
		if m.Mod.Path == "go.mongodb.org/mongo-driver/v2" {
			required = append(required, m.Mod)
		}
	}
	out := "module somebody.example/shop\n\ngo " + ours.Go.Version + "\n\nreplace " + version.Path + " => " + fetched + "\n\n"
	for _, m := range required {
		out += "require " + m.Path + " " + m.Version + "\n"
	}
	return []byte(out)
}
