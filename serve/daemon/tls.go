package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/server"
)

// certificates holds the server's TLS certificate, and the requirements for the certificates of clients. Safe for
// concurrent use after open.
type certificates struct {
	mode    server.TLSMode
	cfg     *Config
	signing *ratelimit.Semaphore
	now     atomic.Pointer[tls.Config]
}

// open reads the settings of TLS and the certificate files. At most lanes/2 handshakes, but at least one, compute
// signatures at the same time, so that handshakes leave processors to commands.
// Errors: invalid settings or files.
func (c *certificates) open(cfg *Config, lanes int) (err error) {
	name := cfg.TLSMode
	if name == "" {
		name = "disabled"
	}
	if c.mode, err = server.ParseTLSMode(name); err != nil {
		return fmt.Errorf("--tls-mode: %w", err)
	}
	c.cfg, c.signing = cfg, ratelimit.NewSemaphore(lanes/2)
	if cfg.TLSRevoked != "" && cfg.TLSAuthorities == "" {
		return errors.New("--tls-crl-file is about the certificates of clients, for which --tls-ca-file must be given")
	}
	if c.mode == server.TLSDisabled {
		if cfg.TLSCertificate != "" || cfg.TLSAuthorities != "" {
			return errors.New("certificates are given, but --tls-mode is disabled; set it to requireTLS, or to preferTLS to take both kinds of clients")
		}
		return nil
	}
	if cfg.TLSCertificate == "" {
		return fmt.Errorf("--tls-mode=%s needs --tls-certificate-key-file; \"cantle cert\" makes one for development", c.mode)
	}
	return c.load()
}

// load reads the files.
// Errors: invalid files; nothing changes then.
func (c *certificates) load() error {
	if c.mode == server.TLSDisabled {
		return nil
	}
	pair, err := readPair(c.cfg.TLSCertificate, c.cfg.TLSPassword)
	if err != nil {
		return fmt.Errorf("--tls-certificate-key-file %s: %w; it must hold the certificate and its key, in PEM", c.cfg.TLSCertificate, err)
	}
	limitSigning(&pair, c.signing)
	t := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if file := c.cfg.TLSAuthorities; file != "" {
		text, err := readCredential(file)
		if err != nil {
			return fmt.Errorf("--tls-ca-file: %w", err)
		}
		t.ClientCAs = x509.NewCertPool()
		if !t.ClientCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("--tls-ca-file %s holds no certificate in PEM", file)
		}
		t.ClientAuth = tls.RequireAndVerifyClientCert
		if c.cfg.TLSWithoutCerts {
			t.ClientAuth = tls.VerifyClientCertIfGiven
		}
		if lists := c.cfg.TLSRevoked; lists != "" {
			r, err := readRevocations(lists, parseCertificates(text))
			if err != nil {
				return fmt.Errorf("--tls-crl-file %s: %w", lists, err)
			}
			t.VerifyConnection = r.check
		}
	}
	c.now.Store(t)
	return nil
}

// shown returns the server's certificate, nil without TLS.
func (c *certificates) shown() *x509.Certificate {
	if t := c.now.Load(); t != nil {
		return t.Certificates[0].Leaf
	}
	return nil
}

// ofHTTP returns the TLS configuration of an HTTP server, which uses reloaded certificates too; nil without TLS.
func (c *certificates) ofHTTP() *tls.Config {
	if c.mode == server.TLSDisabled {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.config(), nil }}
}

// config returns the TLS configuration of new connections.
func (c *certificates) config() *tls.Config { return c.now.Load() }
