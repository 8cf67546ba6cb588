package daemon

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"github.com/youmark/pkcs8"

	"github.com/cantledb/cantle/ratelimit"
)

// readPair reads a certificate, its intermediate certificates and its key from one PEM
// file. The key may be encrypted, as PKCS #8 or in the older way of RFC 1421.
// Manual: reference/configuration-options#net.tls.certificateKeyFilePassword.
func readPair(file, password string) (pair tls.Certificate, err error) {
	text, err := readCredential(file)
	if err != nil {
		return pair, err
	}
	var plain []byte
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b, err = decrypt(b, password); err != nil {
			return pair, err
		}
		plain = append(plain, pem.EncodeToMemory(b)...)
	}
	return tls.X509KeyPair(plain, plain)
}

// decrypt returns a PEM block in plain text: the block itself if it is not encrypted.
// Errors: a missing or wrong password.
func decrypt(b *pem.Block, password string) (*pem.Block, error) {
	//lint:ignore SA1019 files like this exist, and whoever has one wants it read
	old := x509.IsEncryptedPEMBlock(b)
	if !old && b.Type != "ENCRYPTED PRIVATE KEY" {
		return b, nil
	}
	if password == "" {
		return nil, errors.New("its key is encrypted; say --tls-certificate-key-file-password")
	}
	if old {
		//lint:ignore SA1019 see above
		der, err := x509.DecryptPEMBlock(b, []byte(password))
		if err != nil {
			return nil, fmt.Errorf("its key cannot be decrypted: %w", err)
		}
		return &pem.Block{Type: b.Type, Bytes: der}, nil
	}
	key, err := pkcs8.ParsePKCS8PrivateKey(b.Bytes, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("its key cannot be decrypted: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return &pem.Block{Type: "PRIVATE KEY", Bytes: der}, err
}

// limitedKey is the server's private key with a limit on the signatures that run at once: a handshake's signature
// takes about a millisecond of a processor, and clients decide how many connections they open.
type limitedKey struct {
	crypto.Signer
	lanes *ratelimit.Semaphore
}

// Sign see crypto.Signer.
func (k limitedKey) Sign(rand io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	if _, err := k.lanes.Acquire(context.Background(), "", false, 0); err != nil {
		return nil, err
	}
	defer k.lanes.Release()
	return k.Signer.Sign(rand, digest, o)
}

// limitSigning makes the key of a pair sign through lanes.
func limitSigning(pair *tls.Certificate, lanes *ratelimit.Semaphore) {
	if k, ok := pair.PrivateKey.(crypto.Signer); ok {
		pair.PrivateKey = limitedKey{k, lanes}
	}
}
