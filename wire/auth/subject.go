package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"strings"
)

// Subject returns the name of a certificate's owner in the form that names of users in $external have: RFC 2253, the
// last part first, such as "CN=alice,OU=clients,O=Shop"; "" if it cannot be decoded. Manual: core/security-x.509.
func Subject(cert *x509.Certificate) string {
	var parts pkix.RDNSequence
	if rest, err := asn1.Unmarshal(cert.RawSubject, &parts); err != nil || len(rest) > 0 {
		return ""
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		for j, a := range parts[i] {
			if j > 0 {
				b.WriteByte('+')
			}
			appendAttribute(&b, a)
		}
	}
	return b.String()
}

// attributeNames maps the object identifiers of the parts of a subject to their short names: those of RFC 2253, and
// those that OpenSSL adds.
var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "street",
	"2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.42": "GN", "2.5.4.43": "initials", "2.5.4.44": "generationQualifier",
	"2.5.4.46": "dnQualifier", "0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC", "1.2.840.113549.1.9.1": "emailAddress",
}

func appendAttribute(b *strings.Builder, a pkix.AttributeTypeAndValue) {
	name, ok := attributeNames[a.Type.String()]
	if !ok {
		name = a.Type.String()
	}
	b.WriteString(name + "=")
	s, isText := a.Value.(string)
	if !isText {
		raw, err := asn1.Marshal(a.Value)
		if err != nil {
			raw = []byte(fmt.Sprint(a.Value))
		}
		b.WriteString("#" + hex.EncodeToString(raw))
		return
	}
	for i, r := range s {
		if strings.ContainsRune(`,+"\<>;`, r) || i == 0 && (r == ' ' || r == '#') || i == len(s)-1 && r == ' ' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
}
