package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// config parses a command line into settings.
func config(t *testing.T, args ...string) *daemon.Config {
	t.Helper()
	var c daemon.Config
	f := flags.New("serve")
	c.Flags(f)
	if err := flags.Parse(f, append([]string{"--listen", "127.0.0.1:0"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &c
}

// about returns the findings of one check.
func about(found []Finding, check string) (out []Finding) {
	for _, f := range found {
		if f.Check == check {
			out = append(out, f)
		}
	}
	return out
}

// want fails the test unless one of the findings is of that check, in that state, and has a text that contains what. A
// fault or warning must also have advice.
func want(t *testing.T, found []Finding, check string, state State, what string) {
	t.Helper()
	for _, f := range about(found, check) {
		if f.State == state && strings.Contains(f.Found, what) {
			if (state == Fault || state == Warning) && f.Advice == "" {
				t.Errorf("%s: nothing to do about %s", check, f.Found)
			}
			return
		}
	}
	t.Errorf("%s: no %s with %q in %+v", check, state, what, about(found, check))
}

// A machine without faults.
func TestGood(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	found := Machine(t.Context(), config(t, "--data", dir), daemon.Origins{"data": ""})
	for check, what := range map[string]string{"settings": "1 on the command line", "folder": dir, "format": "no database yet", "memory": "B for this process", "ports": "127.0.0.1:0 (--listen) is free"} {
		want(t, found, check, Good, what)
	}
	for _, f := range found {
		if f.State == Fault && f.Check != "space" && f.Check != "descriptors" {
			t.Errorf("%+v", f)
		}
	}
	if got := about(found, "sync"); len(got) != 1 || !strings.Contains(got[0].Found, "median of ") {
		t.Errorf("%+v", got)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
	if found := Machine(t.Context(), config(t, "--memory"), nil); about(found, "folder") != nil || about(found, "sync") != nil {
		t.Errorf("%+v", found)
	}
	missing := filepath.Join(dir, "a", "b")
	want(t, Machine(t.Context(), config(t, "--data", missing), nil), "folder", Good, missing+" does not exist and will be created")
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was made", left)
	}
}

func TestFolderFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, Machine(t.Context(), config(t, "--data", file), nil), "folder", Fault, "is a file")
	want(t, Machine(t.Context(), config(t, "--data", filepath.Join(file, "x")), nil), "folder", Fault, "")
	if permissions {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		want(t, Machine(t.Context(), config(t, "--data", dir), nil), "folder", Warning, "mode 0755")
	}
	if err := os.WriteFile(filepath.Join(dir, "WiredTiger"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, Machine(t.Context(), config(t, "--data", dir), nil), "format", Fault, "files of a mongod")
}

// The findings about a store that is open, one that is closed, one with a file that is newer than the clock, one whose
// MANIFEST is cut off, and one whose folder was removed.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	s, err := pebblekv.Open(store, pebblekv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := Machine(t.Context(), config(t, "--data", dir), nil)
	want(t, found, "format", Good, "open in a running server")
	want(t, found, "ports", Note, "no program listens")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, Machine(t.Context(), config(t, "--data", dir), nil), "format", Good, fmt.Sprintf("version %d", storage.FormatFirst))
	later := time.Now().Add(2 * time.Hour)
	list, _ := filepath.Glob(filepath.Join(store, "MANIFEST-*"))
	for _, name := range list {
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
	}
	want(t, Machine(t.Context(), config(t, "--data", dir), nil), "clock", Fault, "behind the newest file")
	for _, name := range list {
		if err := os.Truncate(name, 5); err != nil {
			t.Fatal(err)
		}
	}
	if got := about(Machine(t.Context(), config(t, "--data", dir), nil), "format"); len(got) != 1 || got[0].State != Fault || strings.Contains(got[0].Found, "pebble") ||
		!strings.Contains(got[0].Found, "MANIFEST-") || !strings.Contains(got[0].Found, "list of tables") {
		t.Errorf("%+v", got)
	}
	if err := errors.Join(os.RemoveAll(store), os.Mkdir(filepath.Join(dir, "scratch"), 0o700)); err != nil {
		t.Fatal(err)
	}
	want(t, Machine(t.Context(), config(t, "--data", dir), nil), "format", Fault, "has had a database and has lost it")
}

func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	found := Machine(t.Context(), config(t, "--memory", "--cosmos-listen", l.Addr().String()), nil)
	want(t, found, "ports", Fault, "listens on "+l.Addr().String()+" (--cosmos-listen) already")
	if runtime.GOOS == "linux" {
		want(t, found, "ports", Fault, fmt.Sprintf("(process %d)", os.Getpid()))
	}
	const name = "/proc/self/comm"
	if was, err := os.ReadFile(name); err == nil && os.WriteFile(name, []byte("cantle"), 0) == nil { // another cantle, for a moment
		found := Machine(t.Context(), config(t, "--memory", "--listen", l.Addr().String()), nil)
		if err := os.WriteFile(name, was, 0); err != nil {
			t.Error(err)
		}
		want(t, found, "ports", Warning, "a start with these settings would fail")
	}
	want(t, Machine(t.Context(), config(t, "--memory", "--listen", "192.0.2.1:1", "--allow-open"), nil), "ports", Fault, "not an address of this machine")
}

// certificate writes a certificate, valid between two times, and its key to a file, and returns the file's path.
func certificate(t *testing.T, from, until time.Time) (file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "db"}, DNSNames: []string{"db.example"}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "server.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCertificates(t *testing.T) {
	now := time.Now()
	day := 24 * time.Hour
	look := func(file string) []Finding {
		return Machine(t.Context(), config(t, "--memory", "--tls-mode", "requireTLS", "--tls-certificate-key-file", file), nil)
	}
	for _, c := range []struct {
		from, until time.Duration
		state       State
		what        string
	}{
		{-day, 90 * day, Good, "db.example"},
		{-day, 10*day + time.Hour, Warning, "in 10 days"},
		{-30 * day, -day, Fault, "expired on " + now.Add(-day).UTC().Format(time.DateOnly)},
		{day, 90 * day, Fault, "is not valid before"},
	} {
		want(t, look(certificate(t, now.Add(c.from), now.Add(c.until))), "certificates", c.state, c.what)
	}
	file := certificate(t, now, now.Add(90*day))
	if permissions {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		want(t, look(file), "certificates", Warning, "has a key and can be read by other users")
	}
	want(t, look("/nonexistent.pem"), "settings", Fault, "--tls-certificate-key-file /nonexistent.pem")
}

// The findings about the limit of open files: a fault, a warning or none, by the limit. For low limits the test runs
// its own binary in a process whose limit a shell has lowered.
func TestDescriptors(t *testing.T) {
	if os.Getenv("DOCTOR_LIMITED") != "" {
		for _, f := range descriptors(0) {
			fmt.Printf("found %s %s\n", f.State, f.Found)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("ulimit is that of Linux here")
	}
	for limit, state := range map[string]string{"200": "fault 200", "4500": "warning 4500"} {
		cmd := exec.Command("sh", "-c", "ulimit -n "+limit+" && exec "+os.Args[0]+" -test.run '^TestDescriptors$' -test.v")
		cmd.Env = append(os.Environ(), "DOCTOR_LIMITED=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "found "+state) {
			t.Errorf("ulimit -n %s: %v\n%s", limit, err, out)
		}
	}
	if limit, ok := filesMax(); ok && limit > 10_000 {
		want(t, descriptors(int(limit)), "descriptors", Warning, "too few for --max-connections")
		want(t, descriptors(100), "descriptors", Good, "")
	}
}

func TestHugePages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("of Linux")
	}
	for _, c := range []struct {
		enabled, defrag string
		state           State
	}{
		{"always [madvise] never", "always defer defer+madvise [madvise] never", Good},
		{"[always] madvise never", "always defer defer+madvise [madvise] never", Note},
		{"[always] madvise never", "[always] defer defer+madvise madvise never", Warning},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"enabled": c.enabled, "defrag": c.defrag} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want(t, hugePages(dir), "huge pages", c.state, "")
	}
	if got := hugePages(t.TempDir()); got != nil {
		t.Errorf("%+v", got)
	}
}
