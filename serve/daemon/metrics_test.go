package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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
