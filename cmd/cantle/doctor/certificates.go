package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"time"

	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/serve/daemon"
)

// certificatesOf checks the certificate files that the settings name. Files that cannot be read are left out here,
// because the function settings reports them.
func certificatesOf(c *daemon.Config) (out []Finding) {
	for _, file := range []struct{ flag, name string }{{"--tls-certificate-key-file", c.TLSCertificate}, {"--tls-ca-file", c.TLSAuthorities}} {
		if file.name == "" {
			continue
		}
		text, err := os.ReadFile(file.name)
		if err != nil {
			continue
		}
		secret := false
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			secret = secret || strings.Contains(block.Type, "PRIVATE KEY")
			if block.Type != "CERTIFICATE" {
				continue
			}
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				out = append(out, Certificate(file.name, cert, time.Now()))
			}
		}
		if info, err := os.Stat(file.name); err == nil && secret && permissions && info.Mode().Perm()&0o077 != 0 {
			out = append(out, newFinding("certificates", Warning, "%s has a key and can be read by other users of this machine (mode %04o)", file.name, info.Mode().Perm()).do("chmod 600 %s", file.name))
		}
	}
	return append(out, revocations(c.TLSRevoked)...)
}

// Certificate reports how long a certificate is still valid. from is the file or server that the certificate comes
// from.
func Certificate(from string, cert *x509.Certificate, now time.Time) Finding {
	subject := cert.Subject.String()
	if names := append(cert.DNSNames, addressesOf(cert)...); len(names) > 0 {
		subject += " (" + strings.Join(names, ", ") + ")"
	}
	if cert.IsCA {
		subject = "authority " + cert.Subject.String()
	}
	const renew = "replace it and send the server SIGHUP, which closes no connections"
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	switch {
	case now.After(cert.NotAfter):
		return newFinding("certificates", Fault, "%s: %s expired on %s; clients reject it", from, subject, day(cert.NotAfter)).do(renew)
	case now.Before(cert.NotBefore):
		return newFinding("certificates", Fault, "%s: %s is not valid before %s; clients reject it", from, subject, day(cert.NotBefore)).do("wait, or check the clock of this machine")
	case cert.NotAfter.Sub(now) < certificates.ExpiryWarning:
		return newFinding("certificates", Warning, "%s: %s expires on %s, in %s", from, subject, day(cert.NotAfter), certificates.Days(cert.NotAfter.Sub(now))).do(renew)
	}
	return newFinding("certificates", Good, "%s: %s is valid until %s", from, subject, day(cert.NotAfter))
}

// addressesOf returns the IP addresses that a certificate is valid for.
func addressesOf(cert *x509.Certificate) (out []string) {
	for _, ip := range cert.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// revocations checks that the certificate revocation lists are current.
func revocations(file string) (out []Finding) {
	text, err := os.ReadFile(file)
	if file == "" || err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(block.Bytes)
		if err == nil && !list.NextUpdate.IsZero() && time.Now().After(list.NextUpdate) {
			out = append(out, newFinding("certificates", Warning, "%s: the revocation list of %s should have been renewed by %s", file, list.Issuer, list.NextUpdate.UTC().Format(time.DateOnly)).
				do("download the newest list and send the server SIGHUP"))
		}
	}
	return out
}
