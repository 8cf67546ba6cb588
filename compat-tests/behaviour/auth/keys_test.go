package auth

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/youmark/pkcs8"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// pair reads a certificate and its key.
func pair(t *testing.T, dir, cert, key string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	p, err := tls.LoadX509KeyPair(filepath.Join(dir, cert), filepath.Join(dir, key))
	bsontest.Must(t, err)
	return p.Leaf, p.PrivateKey.(*ecdsa.PrivateKey)
}

// TestEncryptedKey checks that the server's TLS key may be encrypted, in both formats. With a wrong password the
// server reports that and does not start. serverStatus names the certificate, and getCmdLineOpts does not show the
// password.
func TestEncryptedKey(t *testing.T) {
	dir, _ := certificates(t)
	cert, key := pair(t, dir, "server.pem", "server.pem")
	newer, err := pkcs8.MarshalPrivateKey(key, []byte("secret"), nil)
	bsontest.Must(t, err)
	plain, err := x509.MarshalECPrivateKey(key)
	bsontest.Must(t, err)
	//lint:ignore SA1019 what older files hold
	older, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", plain, []byte("secret"), x509.PEMCipherAES256)
	bsontest.Must(t, err)
	for name, block := range map[string]*pem.Block{"PKCS #8": {Type: "ENCRYPTED PRIVATE KEY", Bytes: newer}, "RFC 1421": older} {
		t.Run(name, func(t *testing.T) {
			text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), pem.EncodeToMemory(block)...)
			bsontest.Must(t, os.WriteFile(filepath.Join(dir, "server.pem"), text, 0o600))
			flags := serverFlags(dir, "requireTLS")
			for _, wrong := range [][]string{nil, {"--tls-certificate-key-file-password", "Secret"}} {
				if s, err := harness.Launch(harness.Options{Args: append(flags, wrong...)}); err == nil {
					_ = s.Stop()
					t.Errorf("%q opens the key", wrong)
				} else if !strings.Contains(err.Error(), "encrypt") && !strings.Contains(err.Error(), "decrypt") {
					t.Errorf("%q: %v", wrong, err)
				}
			}
			s := harness.Start(t, harness.Options{Args: append(flags, "--tls-certificate-key-file-password=secret")})
			c := dial(t, s.URI, quick().SetTLSConfig(trust(t, dir, false)))
			var status struct {
				Security struct {
					SSLServerSubjectName               string
					SSLServerHasCertificateAuthority   bool
					SSLServerCertificateExpirationDate time.Time
				}
			}
			bsontest.Must(t, c.Database("admin").RunCommand(harness.Context(t), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status))
			if got := status.Security; !strings.Contains(got.SSLServerSubjectName, "CN=") || !got.SSLServerCertificateExpirationDate.Equal(cert.NotAfter) || got.SSLServerHasCertificateAuthority {
				t.Errorf("serverStatus: %+v", got)
			}
			line, err := c.Database("admin").RunCommand(harness.Context(t), bson.D{{Key: "getCmdLineOpts", Value: 1}}).Raw()
			bsontest.Must(t, err)
			if strings.Contains(line.String(), "=secret") {
				t.Error("getCmdLineOpts shows the password")
			}
		})
	}
}

// revoke writes a list of revoked certificates into a file, valid until a time and signed by the authority of the
// folder dir.
func revoke(t *testing.T, dir, file string, until time.Time, serials ...*big.Int) {
	t.Helper()
	ca, key := pair(t, dir, "ca.pem", "ca-key.pem")
	list := &x509.RevocationList{Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: until}
	for _, n := range serials {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: n, RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, ca, key)
	bsontest.Must(t, err)
	bsontest.Must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}), 0o600))
}

// TestRevoked checks that a client with a revoked certificate is refused and others are accepted; that all clients
// are refused if the list of revoked certificates has expired; and that the server does not start with a list that
// another authority signed.
func TestRevoked(t *testing.T) {
	dir, _ := certificates(t)
	cert, _ := pair(t, dir, "client.pem", "client.pem")
	crl := filepath.Join(dir, "crl.pem")
	later := time.Now().Add(time.Hour)
	flags := serverFlags(dir, "requireTLS", "--tls-ca-file", filepath.Join(dir, "ca.pem"), "--tls-crl-file", crl)
	try := func(s *harness.Server) error {
		return run(t, dial(t, s.URI, quick().SetTLSConfig(trust(t, dir, true))), "test", ping)
	}
	revoke(t, dir, crl, later, big.NewInt(7))
	s := harness.Start(t, harness.Options{Args: flags})
	if err := try(s); err != nil {
		t.Errorf("a certificate that was not revoked: %v", err)
	}
	for what, write := range map[string]func(){
		"revoked":         func() { revoke(t, dir, crl, later, big.NewInt(7), cert.SerialNumber) },
		"an expired list": func() { revoke(t, dir, crl, time.Now().Add(-time.Minute)) },
	} {
		write()
		before := strings.Count(s.Log(), "certificates reloaded")
		p, err := os.FindProcess(s.PID())
		bsontest.Must(t, err)
		bsontest.Must(t, p.Signal(syscall.SIGHUP))
		for i := 0; strings.Count(s.Log(), "certificates reloaded") == before; i++ {
			if i > 600 {
				t.Fatal("the list is not read again")
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := try(s); err == nil {
			t.Errorf("%s: the client gets in", what)
		}
	}
	other, _ := certificates(t)
	revoke(t, other, crl, later)
	if s, err := harness.Launch(harness.Options{Args: flags}); err == nil {
		_ = s.Stop()
		t.Error("a list of another authority is taken")
	} else if !strings.Contains(err.Error(), "signed by no authority") {
		t.Error(err)
	}
}

// TestLoginsAreCounted checks that serverStatus has the number of attempts by mechanism.
func TestLoginsAreCounted(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, options.Credential{AuthMechanism: "SCRAM-SHA-256", Username: "root", Password: "secret"})
	bsontest.Must(t, run(t, root, "test", ping))
	if got := code(run(t, as(t, s, options.Credential{AuthMechanism: "SCRAM-SHA-1", Username: "root", Password: "no"}), "test", ping)); got != 18 {
		t.Errorf("a wrong password: %d", got)
	}
	type received struct{ Received, Successful int64 }
	var status struct {
		Security struct {
			Authentication struct {
				Mechanisms map[string]struct{ SpeculativeAuthenticate, ClusterAuthenticate, Authenticate received }
			}
		}
	}
	bsontest.Must(t, root.Database("admin").RunCommand(harness.Context(t), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status))
	all := func(m string) (n received) {
		x := status.Security.Authentication.Mechanisms[m]
		return received{x.SpeculativeAuthenticate.Received + x.Authenticate.Received, x.SpeculativeAuthenticate.Successful + x.Authenticate.Successful}
	}
	if got := all("SCRAM-SHA-256"); got.Successful == 0 || got.Successful > got.Received {
		t.Errorf("by SCRAM-SHA-256: %+v", got)
	}
	if got := all("SCRAM-SHA-1"); got.Received == 0 || got.Successful != 0 {
		t.Errorf("by SCRAM-SHA-1: %+v", got)
	}
}
