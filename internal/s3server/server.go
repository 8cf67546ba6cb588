package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
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

// Start starts a server with an empty bucket, which ends with the test. If the program cannot be built because its module
// is not available, the test is skipped.
func Start(t *testing.T) *Server {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Skipf("the server versitygw cannot be built: %v", err)
	}
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

// program builds the program, unless it was built before, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	here := filepath.Dir(file)
	if !filepath.IsAbs(here) { // built with -trimpath
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/cantledb/cantle/internal/s3server").Output()
		if err != nil {
			return "", err
		}
		here = string(bytes.TrimSpace(out))
	}
	pinned, err := os.ReadFile(filepath.Join(here, "gateway", "go.mod"))
	if err != nil {
		return "", err
	}
	cache := filepath.Join(here, "..", "..", ".cache", "versitygw")
	bin := filepath.Join(cache, "versitygw.exe")
	if built, err := os.ReadFile(filepath.Join(cache, "go.mod")); err == nil && bytes.Equal(built, pinned) {
		return bin, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
