package auth

import (
	"crypto/tls"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// pythonTLS connects to argv[1] by the TLS version argv[2], as PyMongo does, and exits with status 3 if it refuses the
// certificate.
const pythonTLS = `import socket, ssl, sys
host, _, port = sys.argv[1].partition(":")
c = ssl.create_default_context()
c.minimum_version = c.maximum_version = ssl.TLSVersion[sys.argv[2]]
try:
    c.wrap_socket(socket.create_connection((host, int(port))), server_hostname="localhost")
except ssl.SSLCertVerificationError:
    sys.exit(3)`

// nodeTLS is the same for Node.
const nodeTLS = `const [address, version] = process.argv.slice(1), [host, port] = address.split(":");
const s = require("tls").connect({ host, port, servername: "localhost", minVersion: version, maxVersion: version });
s.on("error", (e) => process.exit(/VERIFY|SELF_SIGNED/.test(e.code) ? 3 : 1));
s.on("secureConnect", () => process.exit(0));`

// TestRefusedCertificate checks that the log has the likely cause and the next step for each way in which clients
// refuse a certificate that they do not trust, and no such cause for other failures of a handshake.
func TestRefusedCertificate(t *testing.T) {
	const cause, step = "the client does not trust the server's certificate", "tlsCAFile"
	dir, _ := certificates(t)
	refuse := func(t *testing.T, program, flag, text, addr, version string) {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skip(program + " is not installed")
		}
		out, err := exec.Command(path, flag, text, addr, version).CombinedOutput()
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 3 {
			t.Fatalf("%s does not refuse the certificate: %v %s", program, err, out)
		}
	}
	in := func(version uint16) func(*testing.T, string) {
		return func(t *testing.T, addr string) {
			c, err := tls.Dial("tcp", addr, &tls.Config{MinVersion: version, MaxVersion: version})
			if err == nil {
				c.Close()
				t.Fatal("Go's client trusts the certificate")
			}
		}
	}
	for name, connect := range map[string]func(*testing.T, string){
		"Go, TLS 1.2":     in(tls.VersionTLS12),
		"Go, TLS 1.3":     in(tls.VersionTLS13),
		"Python, TLS 1.2": func(t *testing.T, addr string) { refuse(t, "python3", "-c", pythonTLS, addr, "TLSv1_2") },
		"Python, TLS 1.3": func(t *testing.T, addr string) { refuse(t, "python3", "-c", pythonTLS, addr, "TLSv1_3") },
		"Node, TLS 1.3":   func(t *testing.T, addr string) { refuse(t, "node", "-e", nodeTLS, addr, "TLSv1.3") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Options{Args: serverFlags(dir, "requireTLS")})
			connect(t, s.Addr)
			line := awaitLine(t, s, "TLS handshake")
			if !strings.Contains(line, cause) || !strings.Contains(line, step) {
				t.Errorf("the log has %q", line)
			}
		})
	}
	t.Run("no common version", func(t *testing.T) {
		t.Parallel()
		s := harness.Start(t, harness.Options{Args: serverFlags(dir, "requireTLS")})
		c := trust(t, dir, false)
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if _, err := tls.Dial("tcp", s.Addr, c); err == nil {
			t.Fatal("TLS 1.1 gets in")
		}
		if line := awaitLine(t, s, "TLS handshake"); strings.Contains(line, "trust") {
			t.Errorf("the log has %q", line)
		}
	})
	t.Run("a trusting client", func(t *testing.T) {
		t.Parallel()
		s := harness.Start(t, harness.Options{Args: serverFlags(dir, "requireTLS")})
		bsontest.Must(t, run(t, dial(t, s.URI, quick().SetTLSConfig(trust(t, dir, false))), "test", ping))
		if strings.Contains(s.Log(), "TLS handshake") {
			t.Errorf("the log has a failed handshake:\n%s", s.Log())
		}
	})
}

// awaitLine waits for a line of the server's log that contains a text.
func awaitLine(t *testing.T, s *harness.Server, text string) string {
	t.Helper()
	for range 400 {
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, text) {
				return line
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("no %q in the log:\n%s", text, s.Log())
	return ""
}
