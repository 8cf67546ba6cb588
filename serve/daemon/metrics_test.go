package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	issue "github.com/cantledb/cantle/serve/certificates"
)

func TestMetricsEndpoint(t *testing.T) {
	var cfg Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse([]string{"--memory", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--drain", "1s"}); err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	get := func(url, accept string) (code int, kind, text string) {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Accept", accept)
		r, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, r.Header.Get("Content-Type"), string(body)
	}
	url := d.MetricsURL()
	code, kind, text := get(url, "*/*")
	for _, want := range []string{"cantle_info{", "cantle_connections 0", "cantle_store_disk_bytes", "go_goroutines"} {
		if code != 200 || !strings.HasPrefix(kind, "text/plain") || !strings.Contains(text, want) {
			t.Errorf("status %d, %s, without %q:\n%s", code, kind, want, text)
		}
	}
	// the Accept header of a Prometheus that prefers protobuf
	const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	code, kind, text = get(url, protobuf+";q=0.6,text/plain;version=0.0.4;q=0.3")
	if code != 200 || !strings.HasPrefix(kind, "application/vnd.google.protobuf") || !strings.Contains(text, "cantle_store_disk_bytes") {
		t.Errorf("status %d, %s:\n%s", code, kind, text)
	}
	if code, _, _ := get(strings.TrimSuffix(url, "metrics"), "*/*"); code != 404 {
		t.Errorf("elsewhere: status %d", code)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it answers after the server has stopped")
	}
	cfg.Metrics = "256.0.0.1:x"
	if _, err := Start(t.Context(), cfg, io.Discard); err == nil || !strings.Contains(err.Error(), "--metrics-listen") {
		t.Errorf("a bad address: %v", err)
	}
}

// TestMetricsSecurity checks that the metrics use TLS if the server has certificates; that an address that other
// machines reach demands the name and password of a user with the role clusterMonitor; and that errors of the HTTP
// server are in the server's log, in its format.
func TestMetricsSecurity(t *testing.T) {
	dir := t.TempDir()
	if _, err := issue.Make(dir, []string{"127.0.0.1"}, "client", time.Hour); err != nil {
		t.Fatal(err)
	}
	var cfg Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse([]string{"--memory", "--listen", "127.0.0.1:0", "--drain", "1s", "--metrics-listen", "0.0.0.0:0", "--log-format", "json",
		"--tls-mode", "preferTLS", "--tls-certificate-key-file", filepath.Join(dir, "server.pem"), "--initdb-root-username", "admin", "--initdb-root-password", "pwd"}); err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	d, err := Start(t.Context(), cfg, &log)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()).SetAuth(options.Credential{Username: "admin", Password: "pwd"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, role := range map[string]string{"watcher": "clusterMonitor", "reader": "readAnyDatabase"} {
		if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{role}}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	pem, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil || !authority.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(d.MetricsURL(), "https://[::]"), ":")
	url := "https://127.0.0.1:" + port
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}}
	for _, c := range []struct {
		user, password string
		status         int
	}{{"", "", 401}, {"watcher", "wrong", 401}, {"reader", "x", 403}, {"watcher", "x", 200}} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.user != "" {
			ask.SetBasicAuth(c.user, c.password)
		}
		r, err := transport.RoundTrip(ask)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != c.status || strings.Contains(string(body), "cantle_info{") != (c.status == 200) || (r.Header.Get("WWW-Authenticate") != "") != (c.status == 401) {
			t.Errorf("%s %s: status %d\n%.300s", c.user, c.password, r.StatusCode, body)
		}
	}
	transport.CloseIdleConnections()
	if _, err := new(http.Transport).RoundTrip(must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))); err == nil {
		t.Error("an unknown authority is accepted")
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	found := false
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		found = found || fields["room"] == "metrics" && fields["level"] == "warn" && strings.Contains(fmt.Sprint(fields["message"]), "TLS handshake error")
	}
	if !found {
		t.Errorf("the failed handshake is not in the log:\n%s", log.String())
	}
	for args, fault := range map[string]string{
		"--metrics-listen 0.0.0.0:1":              "other machines may reach 0.0.0.0:1, and the metrics would need no login",
		"--metrics-listen 0.0.0.0:1 --auth":       "other machines may reach 0.0.0.0:1, and the metrics would need no login",
		"--metrics-listen 0.0.0.0:1 --allow-open": "",
		"--metrics-listen 0.0.0.0:1 --auth --tls-mode requireTLS --tls-certificate-key-file " + filepath.Join(dir, "server.pem"): "",
	} {
		if _, _, faults := load(t, args, "", nil); (faults == nil) != (fault == "") || !strings.HasPrefix(strings.Join(faults, " "), fault) {
			t.Errorf("%s: %q", args, faults)
		}
	}
}

// lockedBuffer is a buffer for the log of a server.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// must returns v, and panics with an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
