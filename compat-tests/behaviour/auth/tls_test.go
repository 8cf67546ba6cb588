package auth

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// certificates makes certificates by `cantle cert`, and returns their folder and the user name of the client's
// certificate.
func certificates(t *testing.T, flags ...string) (dir, subject string) {
	t.Helper()
	dir, out := harness.Certificates(t, flags...)
	m := regexp.MustCompile(`createUser: (".*"), roles`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("cantle cert names no user:\n%s", out)
	}
	subject, err := strconv.Unquote(string(m[1]))
	bsontest.Must(t, err)
	return dir, subject
}

func serverFlags(dir, mode string, more ...string) []string {
	return append([]string{"--tls-mode", mode, "--tls-certificate-key-file", filepath.Join(dir, "server.pem")}, more...)
}

// trust returns a client's TLS configuration that trusts the authority of a folder. If client is set, it also has the
// client's certificate.
func trust(t *testing.T, dir string, client bool) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	bsontest.Must(t, err)
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM(text)
	if client {
		file := filepath.Join(dir, "client.pem")
		pair, err := tls.LoadX509KeyPair(file, file)
		bsontest.Must(t, err)
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

func quick() *options.ClientOptions { return options.Client().SetServerSelectionTimeout(time.Second) }

var ping = bson.D{{Key: "ping", Value: 1}}

// TestModes checks which clients each mode accepts.
func TestModes(t *testing.T) {
	dir, _ := certificates(t)
	for mode, want := range map[string]struct{ plain, encrypted bool }{
		"disabled": {true, false}, "allowTLS": {true, true}, "preferTLS": {true, true}, "requireTLS": {false, true},
	} {
		t.Run(mode, func(t *testing.T) {
			flags := serverFlags(dir, mode)
			if mode == "disabled" {
				flags = nil
			}
			s := harness.Start(t, harness.Options{Args: flags})
			plain := "mongodb://" + s.Addr + "/"
			if strings.Contains(s.URI, "tls=true") != (mode == "requireTLS") {
				t.Errorf("the ready line says %s", s.URI)
			}
			s.URI = plain
			if err := run(t, dial(t, s.URI, quick()), "test", ping); (err == nil) != want.plain {
				t.Errorf("a plain client: %v", err)
			}
			if err := run(t, dial(t, s.URI, quick().SetTLSConfig(trust(t, dir, false))), "test", ping); (err == nil) != want.encrypted {
				t.Errorf("an encrypted client: %v", err)
			}
		})
	}
}

// TestClientCertificates checks that a server with an authority for clients (--tls-ca-file) requires a certificate of
// every client, and that a client can log in by its certificate.
func TestClientCertificates(t *testing.T) {
	dir, subject := certificates(t, "--client", "alice, of \"sales\"")
	stranger, _ := certificates(t)
	ca := []string{"--auth", "--tls-ca-file", filepath.Join(dir, "ca.pem")}
	s := harness.Start(t, harness.Options{Args: serverFlags(dir, "requireTLS", ca...)})
	if err := run(t, dial(t, s.URI, quick().SetTLSConfig(trust(t, dir, false))), "test", ping); err == nil {
		t.Error("a client without a certificate gets in")
	}
	other := trust(t, dir, false)
	other.Certificates = trust(t, stranger, true).Certificates
	if err := run(t, dial(t, s.URI, quick().SetTLSConfig(other)), "test", ping); err == nil {
		t.Error("a client with somebody else's certificate gets in")
	}
	old := trust(t, dir, true)
	old.MaxVersion = tls.VersionTLS11
	if err := run(t, dial(t, s.URI, quick().SetTLSConfig(old)), "test", ping); err == nil {
		t.Error("TLS 1.1 gets in")
	}
	first := dial(t, s.URI, options.Client().SetTLSConfig(trust(t, dir, true)))
	createRoot(t, first)
	withCert := options.Client().SetTLSConfig(trust(t, dir, true))
	byCert := options.Credential{AuthMechanism: "MONGODB-X509", AuthSource: "$external"}
	if got := code(run(t, as(t, s, byCert, withCert), "test", bson.D{{Key: "find", Value: "c"}})); got != 18 {
		t.Errorf("a certificate without a user: %d", got)
	}
	root := as(t, s, rootCredential, withCert)
	bsontest.Must(t, run(t, root, "$external", bson.D{{Key: "createUser", Value: subject},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "test"}}}}}))
	c := as(t, s, byCert, withCert)
	bsontest.Must(t, run(t, c, "test", bson.D{{Key: "find", Value: "c"}}))
	if got := code(run(t, c, "test", bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{}}}})); got != 13 {
		t.Errorf("a reader with a certificate inserts: %d", got)
	}
}

// TestReload checks that after the signal SIGHUP new connections get the new certificate of the server, and that a
// broken certificate file changes nothing.
func TestReload(t *testing.T) {
	dir, _ := certificates(t)
	s := harness.Start(t, harness.Options{Args: serverFlags(dir, "requireTLS")})
	serial := func() string {
		c, err := tls.Dial("tcp", s.Addr, trust(t, dir, false))
		bsontest.Must(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	reload := func(line string) {
		p, err := os.FindProcess(s.PID())
		bsontest.Must(t, err)
		bsontest.Must(t, p.Signal(syscall.SIGHUP))
		for range 600 {
			if strings.Contains(s.Log(), line) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("no %q in the log", line)
	}
	before := serial()
	binary, err := harness.Binary()
	bsontest.Must(t, err)
	bsontest.Must(t, exec.Command(binary, "cert", "--dir", dir).Run())
	if serial() != before {
		t.Error("a new certificate without SIGHUP")
	}
	reload("certificates reloaded")
	after := serial()
	if after == before {
		t.Error("the old certificate after SIGHUP")
	}
	bsontest.Must(t, os.WriteFile(filepath.Join(dir, "server.pem"), []byte("nonsense"), 0o600))
	reload("the certificates were not reloaded")
	if serial() != after {
		t.Error("another certificate after a broken file")
	}
}

// TestUnixSocket checks that a Unix domain socket needs no TLS even if TLS is required, and counts as an address of
// this machine.
func TestUnixSocket(t *testing.T) {
	dir, _ := certificates(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	s := harness.Start(t, harness.Options{Args: append(serverFlags(dir, "requireTLS", "--auth"), "--listen", "127.0.0.1:0,unix:"+path)})
	s.URI = "mongodb://" + strings.ReplaceAll(path, "/", "%2F") + "/"
	createRoot(t, dial(t, s.URI, quick()))
	bsontest.Must(t, run(t, as(t, s, rootCredential), "test", bson.D{{Key: "find", Value: "c"}}))
}

// TestSilentClients checks that a client that stops in the middle of a TLS handshake does not block other clients.
func TestSilentClients(t *testing.T) {
	dir, _ := certificates(t)
	s := harness.Start(t, harness.Options{Args: serverFlags(dir, "preferTLS")})
	for _, begin := range []string{"", "\x16", "\x16\x03\x01\x02\x00\x01", "\x16\x03\x01\xff\xffgarbage", "\x00\x00"} {
		c, err := net.Dial("tcp", s.Addr)
		bsontest.Must(t, err)
		defer c.Close()
		_, err = c.Write([]byte(begin))
		bsontest.Must(t, err)
	}
	bsontest.Must(t, run(t, dial(t, s.URI, quick()), "test", ping))
}

// TestRefusesToBeOpen checks that a server that listens on an address of other machines does not start without --auth
// or --allow-open, nor with metrics on such an address without --allow-open.
func TestRefusesToBeOpen(t *testing.T) {
	start := func(flags ...string) error {
		s, err := harness.Launch(harness.Options{Args: append([]string{"--listen", "0.0.0.0:0"}, flags...)})
		if err == nil {
			err = s.Stop()
		}
		return err
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "--auth") || !strings.Contains(err.Error(), "--allow-open") {
		t.Errorf("without --auth: %v", err)
	}
	if err := start("--auth"); err != nil {
		t.Errorf("with --auth: %v", err)
	}
	if err := start("--auth", "--metrics-listen", "0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "--metrics-listen") {
		t.Errorf("metrics for everybody: %v", err)
	}
	if err := start("--allow-open"); err != nil {
		t.Errorf("with --allow-open: %v", err)
	}
}
