package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// revocations holds the certificates that authorities have revoked.
type revocations struct {
	lists   []*x509.RevocationList
	revoked map[string]bool // issuer and serial number
}

// readRevocations reads lists of revoked client certificates from a PEM file. Each list must be signed by one of the
// given authorities.
// Manual: reference/configuration-options#net.tls.CRLFile.
func readRevocations(file string, authorities []*x509.Certificate) (*revocations, error) {
	text, err := readCredential(file)
	if err != nil {
		return nil, err
	}
	r := &revocations{revoked: map[string]bool{}}
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		list, err := x509.ParseRevocationList(b.Bytes)
		if err != nil {
			return nil, err
		}
		if !isSigned(list, authorities) {
			return nil, fmt.Errorf("the list of %s is signed by no authority of --tls-ca-file", list.Issuer)
		}
		r.lists = append(r.lists, list)
		for _, e := range list.RevokedCertificateEntries {
			r.revoked[string(list.RawIssuer)+"\x00"+e.SerialNumber.String()] = true
		}
	}
	if len(r.lists) == 0 {
		return nil, fmt.Errorf("it holds no list of revoked certificates in PEM")
	}
	return r, nil
}

func isSigned(list *x509.RevocationList, authorities []*x509.Certificate) bool {
	for _, a := range authorities {
		if list.CheckSignatureFrom(a) == nil {
			return true
		}
	}
	return false
}

// check refuses a TLS client if a certificate of its chain was revoked, or if the revocation list of an issuer has
// expired: revocation can then not be verified.
func (r *revocations) check(s tls.ConnectionState) error {
	for _, chain := range s.VerifiedChains {
		for _, c := range chain {
			if r.revoked[string(c.RawIssuer)+"\x00"+c.SerialNumber.String()] {
				return fmt.Errorf("the certificate of %s was revoked", c.Subject)
			}
			for _, l := range r.lists {
				if string(l.RawIssuer) == string(c.RawIssuer) && !l.NextUpdate.IsZero() && time.Now().After(l.NextUpdate) {
					return fmt.Errorf("the list of revoked certificates of %s has expired", l.Issuer)
				}
			}
		}
	}
	return nil
}

// parseCertificates reads the certificates of a PEM file.
func parseCertificates(text []byte) (list []*x509.Certificate) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return list
		}
		if c, err := x509.ParseCertificate(b.Bytes); err == nil {
			list = append(list, c)
		}
	}
}
