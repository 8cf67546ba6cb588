package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The console of the released binary serves HTTP/2 over TLS to a client that supports it.
func TestConsole(t *testing.T) {
	r := ready(t)
	dir := t.TempDir()
	verb(t, "", "cert", "--dir", dir)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, exec.Command(r.binary(here), "serve", "--memory", "--listen", "127.0.0.1:0", "--console-listen", at,
		"--tls-mode", "preferTLS", "--tls-certificate-key-file", filepath.Join(dir, "server.pem")))
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + at + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("%s %s, not 200 by HTTP/2", answer.Proto, answer.Status)
	}
}
