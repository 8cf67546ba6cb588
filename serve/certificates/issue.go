// Package certificates makes certificates for development: those of an authority, of a server and of a client, each
// with its key.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cantledb/cantle/serve/secretfile"
	"github.com/cantledb/cantle/wire/auth"
)

// ExpiryWarning is the remaining lifetime of a certificate below which operators are warned.
const ExpiryWarning = 30 * 24 * time.Hour

// signer holds the certificate and the key of an authority.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Make writes the certificates and keys of a server and of a client into a folder, signed by the folder's authority,
// which it makes if there is none. It returns the name by which the client logs in.
func Make(dir string, hosts []string, client string, life time.Duration) (subject string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	ca, err := openAuthority(dir, now)
	if err != nil {
		return "", err
	}
	server := leaf(pkix.Name{CommonName: hosts[0], Organization: []string{"Cantle development"}}, now, life, x509.ExtKeyUsageServerAuth)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, h)
		}
	}
	if _, err := ca.issue(server, filepath.Join(dir, "server.pem")); err != nil {
		return "", err
	}
	// MongoDB requires that a client's certificate differs from a server's in its
	// organisation.
	cert, err := ca.issue(leaf(pkix.Name{CommonName: client, OrganizationalUnit: []string{"clients"}}, now, life, x509.ExtKeyUsageClientAuth),
		filepath.Join(dir, "client.pem"))
	if err != nil {
		return "", err
	}
	return auth.Subject(cert), nil
}

// authorityLife is the lifetime of an authority's certificate.
const authorityLife = 10 * 365 * 24 * time.Hour

// openAuthority reads the certificate and the key of the authority in a folder. If the folder has no ca-key.pem, it
// makes and writes them.
// Errors: the folder has a key without a certificate that fits, or a key that is not ECDSA.
func openAuthority(dir string, now time.Time) (*signer, error) {
	certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem")
	if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
		key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("%s is a %T, and only ECDSA keys can sign: choose another folder", keyFile, pair.PrivateKey)
		}
		cert, err := x509.ParseCertificate(pair.Certificate[0])
		return &signer{cert, key}, err
	} else if _, missing := os.Stat(keyFile); missing == nil {
		return nil, err // never overwrite an authority that clients may trust
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := leaf(pkix.Name{CommonName: "Cantle development authority", Organization: []string{"Cantle development"}}, now, authorityLife)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	text, err := pemKey(key)
	if err != nil {
		return nil, err
	}
	if err := secretfile.Replace(keyFile, text); err != nil {
		return nil, err
	}
	if err := os.WriteFile(certFile, pemCertificate(der), 0o644); err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &signer{cert, key}, err
}

// leaf returns a certificate to be signed.
func leaf(name pkix.Name, now time.Time, life time.Duration, usage ...x509.ExtKeyUsage) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // rand.Reader never fails
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: name, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage, BasicConstraintsValid: true,
	}
}

// issue makes a key, signs a certificate for it with the authority's key, and writes both to one PEM file. template
// has the contents of the certificate.
func (s *signer) issue(template *x509.Certificate, file string) (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.cert, &key.PublicKey, s.key)
	if err != nil {
		return nil, err
	}
	text, err := pemKey(key)
	if err != nil {
		return nil, err
	}
	if err := secretfile.Replace(file, slices.Concat(pemCertificate(der), text)); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func pemCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func pemKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
