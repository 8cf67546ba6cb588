package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testVersion is the version of the release that the tests make.
const testVersion = "0.9.1"

// here is the platform whose binaries run here.
var here = platform{"linux", runtime.GOARCH}

// TestMain removes the files of the tests.
func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		fmt.Println("ok: packages and images are made on Linux") // the binaries are built by the workflow on each system
		return
	}
	var err error
	if madeIn, err = os.MkdirTemp("", "cantle-release-"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(madeIn)
	os.Exit(status)
}

// madeIn is the folder of the release for this machine.
var madeIn string

// made makes a release for this machine, once for all tests, from the checkout as it is.
var made = sync.OnceValues(func() (*release, error) {
	r, err := newRelease("../..", testVersion, madeIn)
	if err != nil {
		return nil, err
	}
	r.platforms = []platform{here}
	return r, r.make()
})

// ready returns the release of this machine.
func ready(t *testing.T) *release {
	t.Helper()
	r, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verb runs a verb of the released binary with in as its standard input, and returns its output.
func verb(t *testing.T, in string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, ready(t).binary(here), args...)
	cmd.Stdin = strings.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cantle %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// running is a server that a test has started.
type running struct {
	cmd *exec.Cmd
	uri string
	end sync.Once
}

// start starts a server as a process, and waits until the server prints that it is ready.
func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &running{cmd: cmd}
	t.Cleanup(func() { s.stop(t) })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "cantle ready "); ok {
			s.uri, _, _ = strings.Cut(rest, " ")
			s.uri = strings.Replace(s.uri, "[::]", "127.0.0.1", 1)
			go io.Copy(io.Discard, out)
			return s
		}
	}
	s.stop(t)
	t.Fatalf("%v does not serve:\n%s", cmd.Args, errs.String())
	return nil
}

// stop ends a server with the interrupt signal. The server's exit status must be 0. A server below npx gets SIGTERM,
// with its group.
func (s *running) stop(t *testing.T) {
	s.end.Do(func() {
		if a := s.cmd.SysProcAttr; a != nil && a.Setpgid { // a process of npx, which does not forward signals
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
			_ = s.cmd.Wait()
			return
		}
		_ = s.cmd.Process.Signal(os.Interrupt)
		if err := s.cmd.Wait(); err != nil && s.uri != "" {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// If an artefact exceeds its size limit, making a release fails. The test replaces the files of all platforms by
// files of the maximum size, and then each of them by a larger one.
func TestSizes(t *testing.T) {
	made := ready(t)
	r := *made
	r.out, r.platforms = t.TempDir(), platforms
	sizes := map[string]int64{}
	for _, p := range r.platforms {
		sizes[r.binary(p)] = binaryMax
		for _, name := range []string{r.archiveName(p), r.wheelName(p), r.npmName(npmScope + "/" + p.dashed())} {
			sizes[filepath.Join(r.out, name)] = packedMax
		}
	}
	names, err := made.released()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // images, packages and all other files
		if file := filepath.Join(r.out, name); sizes[file] == 0 {
			sizes[file] = r.mostOf(name)
		}
	}
	for file, size := range sizes {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.outgrown(); err != nil {
		t.Fatal(err)
	}
	for file, size := range sizes {
		if err := os.Truncate(file, size+1); err != nil {
			t.Fatal(err)
		}
		if err := r.outgrown(); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("%s with %d bytes: %v", file, size+1, err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if binaries, packed := len(platforms), 3*len(platforms)+4; len(sizes) < binaries+packed {
		t.Errorf("%d files were looked at", len(sizes))
	}
}

// The binary needs no library and no loader, has no symbols, and reports its version.
func TestBinary(t *testing.T) {
	r := ready(t)
	f, err := elf.Open(r.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has %v", p.Type)
		}
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Error("the binary is not stripped")
	}
	out := verb(t, "", "version")
	for _, want := range []string{"cantle " + testVersion + "\n", "commit " + r.commit, "date   " + r.date.Format("2006-01-02T15:04:05Z"), "for " + here.String()} {
		if !strings.Contains(out, want) {
			t.Errorf("cantle version says\n%swithout %q", out, want)
		}
	}
	info, err := buildinfo.ReadFile(r.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	linked := libraries(info)
	var listed struct {
		Modules []struct{ Path, Version, Sum string }
	}
	if err := json.Unmarshal([]byte(verb(t, "", "version", "--json")), &listed); err != nil || len(listed.Modules) != len(linked) {
		t.Errorf("cantle version --json lists %d modules of %d, %v", len(listed.Modules), len(linked), err)
	}
	lines := strings.Split(verb(t, "", "version", "-v"), "\n")
	for i, m := range linked {
		if i < len(listed.Modules) && (listed.Modules[i].Path != m.Path || listed.Modules[i].Version != m.Version || listed.Modules[i].Sum != m.Sum) {
			t.Errorf("cantle version --json lists %v, want %s %s", listed.Modules[i], m.Path, m.Version)
		}
		if !slices.ContainsFunc(lines, func(line string) bool { return slices.Equal(strings.Fields(line), []string{m.Path, m.Version}) }) {
			t.Errorf("cantle version -v does not list %s %s", m.Path, m.Version)
		}
	}
}

// clone clones what is checked out into another folder.
func (r *release) clone(t *testing.T) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "elsewhere")
	if _, err := r.git("clone", "-q", "--no-checkout", r.root, clone); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", clone, "checkout", "-q", "--detach", r.commit).CombinedOutput(); err != nil {
		t.Fatalf("git checkout: %v\n%s", err, out)
	}
	return clone
}

// A clone of the repository in another folder makes the same binary, npm packages and wheel, to the byte.
func TestReproducible(t *testing.T) {
	r := ready(t)
	if r.changed {
		t.Skip("the checkout has changes that are not committed, which a clone has not")
	}
	clone := r.clone(t)
	again, err := newRelease(clone, testVersion, filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	again.platforms = r.platforms
	for _, do := range []func() error{again.binaries, again.notices, again.npm, again.wheels} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := again.released()
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	binary, err := filepath.Rel(again.out, again.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, binary) {
		first, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := sumOf(filepath.Join(again.out, name))
		if err != nil || first != second {
			t.Errorf("%s: two builds of %s differ: %s and %s, %v", name, r.commit, first, second, err)
		}
	}
}

// unpackArchive unpacks an archive into a folder of the test.
func unpackArchive(t *testing.T, path string) (dir string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	unpack(t, z, dir)
	return dir
}

// The archive contains a program that runs, and every checksum is right.
func TestArchive(t *testing.T) {
	r := ready(t)
	dir := unpackArchive(t, filepath.Join(r.out, r.archiveName(here)))
	for _, name := range []string{"LICENSE", noticesName, "README.md", "man/cantle-dump.1", "completions/cantle.zsh"} {
		if _, err := os.Stat(filepath.Join(dir, r.folder(here), name)); err != nil {
			t.Error(err)
		}
	}
	out, err := exec.Command(filepath.Join(dir, r.folder(here), "cantle"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "cantle "+testVersion) {
		t.Errorf("%q %v", out, err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	if err != nil {
		t.Fatal(err)
	}
	names, err := r.released()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if want := hex.EncodeToString(sum[:]) + "  " + name + "\n"; !strings.Contains(string(sums), want) {
			t.Errorf("%s has no line %s", sumsName, want)
		}
	}
	if got := strings.Count(string(sums), "\n"); got != len(names) {
		t.Errorf("%s has %d lines for %d files", sumsName, got, len(names))
	}
}

// unpack unpacks an archive into a folder.
func unpack(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, os.FileMode(h.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// The bill of materials has a component for Go's standard library, and as many others as the binary has modules, each
// with its version and its package URL.
func TestBill(t *testing.T) {
	r := ready(t)
	text, err := os.ReadFile(filepath.Join(r.out, r.folder(here)+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(r.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	if linked := len(libraries(info)); len(b.Components) != linked+1 || linked < 10 {
		t.Errorf("%d components of %d modules", len(b.Components), linked)
	}
	for _, c := range b.Components {
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%+v", c)
		}
	}
}

// The templates of package managers are filled completely.
func TestManifests(t *testing.T) {
	r, err := newRelease("../..", testVersion, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.platforms {
		if err := os.WriteFile(filepath.Join(r.out, r.archiveName(p)), []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.manifests(); err != nil {
		t.Fatal(err)
	}
	for _, n := range manifestNames {
		text, err := os.ReadFile(filepath.Join(r.out, n.file))
		if err != nil {
			t.Fatal(err)
		}
		urls := 0
		for _, p := range r.platforms {
			url := home + "/releases/download/v" + testVersion + "/" + r.archiveName(p)
			sum, err := sumOf(filepath.Join(r.out, r.archiveName(p)))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), url) {
				urls++
				if !strings.Contains(string(text), sum) {
					t.Errorf("%s has %s without its checksum", n.file, url)
				}
			}
		}
		if urls < 2 || strings.Contains(string(text), "{{") || !strings.Contains(string(text), testVersion) {
			t.Errorf("%s has %d addresses:\n%s", n.file, urls, text)
		}
		if strings.HasSuffix(n.file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON:\n%s", n.file, text)
		}
	}
}

// A release accepts only versions of the form that all package managers order in the same way; a pre-release has one
// tag for its images, other releases have two.
func TestVersions(t *testing.T) {
	for text, tags := range map[string]string{"0.2.0": "0.2.0 0.2", "v1.12.3": "1.12.3 1.12", "0.2.0-rc.1": "0.2.0-rc.1", "0.2.0-next": "", "1.2": "", "latest": "", "1.2.3 ": "", "": ""} {
		r, err := newRelease("../..", text, "")
		if (err != nil) != (tags == "") {
			t.Errorf("%q: %v", text, err)
		} else if err == nil && strings.Join(r.tags(), " ") != tags {
			t.Errorf("%q: tags %v", text, r.tags())
		}
	}
}

// The program builds for all platforms, and no file exceeds its size limit.
func TestPlatforms(t *testing.T) {
	if os.Getenv("CANTLE_LONG") == "" {
		t.Skip("compiles everything five more times; ./scripts/test --long does")
	}
	r, err := newRelease("../..", testVersion, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.make(); err != nil {
		t.Fatal(err)
	}
}
