package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/sassoftware/go-rpmutils"
)

// dpkg runs Debian's package manager on a test's own root folder, instead of the system's.
func dpkg(t *testing.T, root string, args ...string) {
	t.Helper()
	args = append([]string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}, args...)
	if out, err := exec.Command("dpkg", args...).CombinedOutput(); err != nil {
		t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// exists reports whether there is a file.
func exists(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}

// newRoot makes an empty root folder into which dpkg can install packages. The test is skipped if this machine does
// not allow that.
func newRoot(t *testing.T) string {
	t.Helper()
	asRoot(t)
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not here")
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// releasedDeb returns the path of the released package for Debian.
func releasedDeb(t *testing.T, r *release) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.out, "*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// The deb package installs, its service starts and notifies systemd, an upgrade keeps the settings, and a purge keeps
// the data.
func TestDeb(t *testing.T) {
	root := newRoot(t)
	r := ready(t)
	dpkg(t, root, "--install", releasedDeb(t, r))
	readManual(t, root)
	s := startService(t, root)
	verb(t, "{\"_id\": 1}\n", "import", s.uri, "test.c")
	s.stop(t)

	config := filepath.Join(root, "etc/cantle/cantle.conf")
	mine := []byte("data: /var/lib/cantle\nreplica-set: mine\n")
	if err := os.WriteFile(config, mine, 0o644); err != nil {
		t.Fatal(err)
	}
	later := *r
	later.version = "0.9.2"
	info := later.packageInfo(here, "deb")
	info.Deb.Compression = "none" // the released package, installed before, is compressed
	second, err := later.linuxPackage(info, "deb", deb.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(second)
	dpkg(t, root, "--install", second)
	if text, _ := os.ReadFile(config); !slices.Equal(text, mine) {
		t.Errorf("the upgrade made the settings\n%s", text)
	}
	s = startService(t, root)
	if got := verb(t, "", "export", s.uri, "test.c"); !strings.Contains(got, `"_id":1`) {
		t.Errorf("after the upgrade the collection has %q", got)
	}
	if !strings.HasSuffix(s.uri, "replicaSet=mine") {
		t.Errorf("the service at %s has other settings", s.uri)
	}
	s.stop(t)

	dpkg(t, root, "--remove", "cantle")
	if exists(root, "usr/bin/cantle") || !exists(config) {
		t.Error("removed: the program must be gone, the settings must not")
	}
	dpkg(t, root, "--purge", "cantle")
	if exists(config) || !exists(root, "var/lib/cantle/store") {
		t.Error("purged: the settings must be gone, the data must not")
	}
}

// readManual reads the installed man pages and completions with the programs that use them (man, bash), and reports
// errors.
func readManual(t *testing.T, root string) {
	t.Helper()
	for _, page := range []string{"cantle", "cantle-serve", "cantle-restore"} {
		file := filepath.Join(root, "usr/share/man/man1", page+".1.gz")
		if _, err := exec.LookPath("man"); err != nil {
			if !exists(file) {
				t.Errorf("there is no %s", file)
			}
			continue
		}
		out, err := exec.Command("man", "--warnings=w", "-l", file).CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, "cantle "+testVersion) || !strings.Contains(text, "SEE ALSO") || strings.Contains(text, "warning:") {
			t.Errorf("man %s: %v\n%s", page, err, out)
		}
	}
	script := `source "$1/share/bash-completion/completions/cantle"; PATH=$1/bin:$PATH; compopt() { :; }
COMP_WORDS=(cantle serve --tls-mode req); COMP_CWORD=3; __start_cantle; echo "${COMPREPLY[@]}"`
	out, err := exec.Command("bash", "-c", script, "x", filepath.Join(root, "usr")).CombinedOutput()
	if err != nil || string(out) != "requireTLS\n" {
		t.Errorf("bash offers %q, %v", out, err)
	}
	for _, name := range []string{"zsh/vendor-completions/_cantle", "fish/vendor_completions.d/cantle.fish"} {
		if !exists(root, "usr/share", name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// startService starts the program with the arguments in the systemd unit of a root folder, as systemd would: with a
// folder for the data, not as root, and waiting for READY=1.
func startService(t *testing.T, root string) *running {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/cantle.service"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(unit), "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	data := filepath.Join(root, "var/lib/cantle")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(root, "run/notify")
	_ = os.Remove(socket)
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	for _, path := range []string{data, socket} {
		if err := os.Chown(path, imageUser, imageUser); err != nil {
			t.Fatal(err)
		}
	}
	args := strings.Fields(line)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Err = nil // the program is in the root folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	cmd.Dir = "/"
	cmd.Env = []string{"NOTIFY_SOCKET=/run/notify", "CANTLE_LISTEN=127.0.0.1:0"}
	s := start(t, cmd)
	state := make([]byte, 64)
	n, err := states.Read(state)
	if err != nil || string(state[:n]) != "READY=1" {
		t.Errorf("systemd was told %q, %v", state[:n], err)
	}
	return s
}

// The rpm holds the same files.
func TestRPM(t *testing.T) {
	r := ready(t)
	found, err := filepath.Glob(filepath.Join(r.out, "*.rpm"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := rpmutils.ReadRpm(f)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := read.Header.GetNEVRA(); err != nil || n.Name != "cantle" || n.Version != testVersion {
		t.Errorf("%+v %v", n, err)
	}
	dir := t.TempDir()
	if err := read.ExpandPayload(dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.packageInfo(here, "rpm").Contents {
		want, err := os.ReadFile(c.Source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, c.Destination)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s in the rpm: %d bytes, want %d; %v", c.Destination, len(got), len(want), err)
		}
	}
}

// systemd accepts every line of the unit.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	unit, err := os.ReadFile("../linux/cantle.service")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cantle.service")
	text := strings.Replace(string(unit), "ExecStart=/usr/bin/cantle", "ExecStart="+ready(t).binary(here), 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "--man=no", "verify", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), file) {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
