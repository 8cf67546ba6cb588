package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each way to start in docs/start.md that compiles nothing works, from nothing to the first query, with the files of
// the release in place of the registries. Their durations are printed (-v).
func TestWays(t *testing.T) {
	r := ready(t)
	for _, way := range []struct {
		name  string
		begin func(*testing.T, *release) *running
	}{{"npx", beginNpx}, {"pip", beginPip}, {"archive", beginArchive}, {"deb", beginDeb}, {"container", beginContainer}} {
		t.Run(way.name, func(t *testing.T) {
			begun, used := time.Now(), processorTime(t)
			s := way.begin(t, r)
			verb(t, "{\"_id\": 1, \"hello\": \"world\"}\n", "import", s.uri, "test.greetings")
			if got := verb(t, "", "export", "--query", `{hello: "world"}`, s.uri, "test.greetings"); !strings.Contains(got, `"_id":1`) {
				t.Errorf("the first query is answered with %q", got)
			}
			took := time.Since(begun)
			s.stop(t)
			t.Logf("%-9s %4.1f s from nothing to the first query; %.1f s of a processor", way.name, took.Seconds(), (processorTime(t) - used).Seconds())
		})
	}
}

// processorTime returns the CPU time of this process and of the child processes that have ended. On an idle machine,
// a way to start takes about that long.
func processorTime(t *testing.T) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// serveMemory are the arguments of a server in memory.
var serveMemory = []string{"serve", "--memory", "--listen", "127.0.0.1:0"}

// inFolder makes a command that runs in a folder, with further environment variables and without the CANTLE_
// variables of the tests.
func inFolder(dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CANTLE_") }), env...)
	return cmd
}

// beginNpx starts a server by npx, which installs the packages of this machine into an empty cache.
func beginNpx(t *testing.T, r *release) *running {
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("npx is not here")
	}
	packages := npmTarballs(t, r)[:2]
	args := []string{"--yes", "--offline", "--package", packages[0], "--package", packages[1], "cantle"}
	// The packages for other platforms do not exist here, so npm is set to omit optional packages.
	cmd := inFolder(t.TempDir(), []string{"npm_config_cache=" + t.TempDir(), "npm_config_omit=optional", "npm_config_update_notifier=false"},
		"npx", append(args, serveMemory...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return start(t, cmd)
}

// beginPip installs the wheel into a new environment.
func beginPip(t *testing.T, r *release) *running {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	dir := t.TempDir()
	venv := filepath.Join(dir, "venv", "bin")
	for _, args := range [][]string{
		{python, "-m", "venv", "venv"},
		{filepath.Join(venv, "pip"), "install", "--quiet", "--no-index", "--no-cache-dir", filepath.Join(r.out, r.wheelName(here))},
	} {
		if out, err := inFolder(dir, nil, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return start(t, inFolder(dir, nil, filepath.Join(venv, "python"), append([]string{"-m", "cantle"}, serveMemory...)...))
}

// beginArchive unpacks the archive.
func beginArchive(t *testing.T, r *release) *running {
	dir := unpackArchive(t, filepath.Join(r.out, r.archiveName(here)))
	return start(t, inFolder(dir, nil, filepath.Join(dir, r.folder(here), "cantle"), serveMemory...))
}

// beginDeb installs the package and starts its service.
func beginDeb(t *testing.T, r *release) *running {
	root := newRoot(t)
	dpkg(t, root, "--install", releasedDeb(t, r))
	return startService(t, root)
}

// beginContainer unpacks the image and starts its program.
func beginContainer(t *testing.T, _ *release) *running {
	asRoot(t)
	c := unpackImage(t)
	if err := os.Chmod(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	return start(t, c.command("serve", "--memory"))
}
