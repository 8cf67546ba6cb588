package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// Credentials of every server.
const (
	AccessKey = "tests"
	SecretKey = "tests-secret"
)

// Server is a running server.
type Server struct {
	URL    string // of the endpoint, http://host:port
	Bucket string // an existing bucket
	Dir    string // the folder with the bucket's objects as files
}

// Location returns the URL of an archive in the bucket, as --backup-to has it, by way of an endpoint: URL, or that of a
// proxy.
func (s *Server) Location(path, endpoint string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=%s&pathStyle=true&region=us-east-1", s.Bucket, path, endpoint)
}

// Environment returns the variables with the credentials, for a process that uses the server.
func Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey}
}

// Need skips a test if the program cannot be built because its module is not available, and in a short run that would
// have to build it. It returns the path of the program.
func Need(t *testing.T) (program string) {
	t.Helper()
	if !testenv.IsLong() && !isBuilt() {
		t.Skip("compiles the S3 server versitygw for three minutes, once; ./scripts/test --long does")
	}
	program, err := build()
	if err != nil {
		t.Skipf("the server versitygw cannot be built: %v", err)
	}
	return program
}

// Start starts a server with an empty bucket, which ends with the test. The test is skipped as by Need.
func Start(t *testing.T) *Server {
	t.Helper()
	bin := Need(t)
	root := t.TempDir()
	s := &Server{Bucket: "backups"}
	s.Dir = filepath.Join(root, "objects", s.Bucket)
	sidecar := filepath.Join(root, "attributes") // the file system may have no extended attributes
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.MkdirAll(sidecar, 0o700)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // the program cannot be given a listener
	s.URL = "http://" + address
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, "--port", address, "--access", AccessKey, "--secret", SecretKey, "--health", "/health", "--quiet",
		"posix", "--sidecar", sidecar, filepath.Dir(s.Dir))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("versitygw: %s", log.String())
		}
	})
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		reply, err := http.Get(s.URL + "/health")
		if err == nil {
			_ = reply.Body.Close()
			return s
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("versitygw does not answer: %v", err)
		}
	}
}

// folder returns the folder of this package.
var folder = sync.OnceValues(func() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if here := filepath.Dir(file); filepath.IsAbs(here) {
		return here, nil
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/cantledb/cantle/internal/s3server").Output() // built with -trimpath
	return string(bytes.TrimSpace(out)), err
})

// cacheOf returns the folder of the built program.
func cacheOf(here string) string { return filepath.Join(here, "..", "..", ".cache", "versitygw") }

// isBuilt reports whether the program of the pinned version was built before.
func isBuilt() bool {
	here, err := folder()
	if err != nil {
		return false
	}
	pinned, err := os.ReadFile(filepath.Join(here, "gateway", "go.mod"))
	built, missing := os.ReadFile(filepath.Join(cacheOf(here), "go.mod"))
	return err == nil && missing == nil && bytes.Equal(built, pinned)
}

// build builds the program, unless it was built before, and returns its path.
var build = sync.OnceValues(func() (string, error) {
	here, err := folder()
	if err != nil {
		return "", err
	}
	cache := cacheOf(here)
	bin := filepath.Join(cache, "versitygw.exe")
	if isBuilt() {
		return bin, nil
	}
	pinned, err := os.ReadFile(filepath.Join(here, "gateway", "go.mod"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(cache, "build-") // several packages may build it at the same time
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	cmd := exec.Command("go", "build", "-o", filepath.Join(part, "versitygw"), "github.com/versity/versitygw/cmd/versitygw")
	cmd.Dir = filepath.Join(here, "gateway")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(filepath.Join(part, "versitygw"), bin); err != nil {
		return "", err
	}
	return bin, os.WriteFile(filepath.Join(cache, "go.mod"), pinned, 0o644)
})
