package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// goZipMax bounds the module as `go get` fetches it.
const goZipMax = 16 << 20

// Somebody's module imports the server and cantletest, from what `go get` would fetch.
func TestGoModule(t *testing.T) {
	r, err := newRelease("../..", testVersion, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	version := module.Version{Path: "github.com/cantledb/cantle", Version: "v" + testVersion}
	file := filepath.Join(r.out, "module.zip")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := zip.CreateFromVCS(out, version, r.clone(t), r.commit, ""); err != nil {
		t.Fatal(err)
	}
	info, err := out.Stat()
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
	begun := time.Now()
	if out := p.run(t, "go", "test", "-count=1", "-vet=off", "./..."); !strings.HasPrefix(out, "ok") {
		t.Errorf("go test says\n%s", out)
	}
	// The client of TiKV belongs to the program, the libraries of the test rig to our own tests.
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
	t.Logf("go test takes %.1f s, with libraries that were compiled before", time.Since(begun).Seconds())
}

// somebodysModule is a go.mod that requires ours, as it was fetched, and the driver.
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
