package daemon

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cantledb/cantle/serve/httplimit"
)

// metrics is the HTTP endpoint for Prometheus.
type metrics struct {
	server *http.Server
	addr   net.Addr
}

// scrapesMax is the number of metrics requests that run at once; further ones are refused with status 503.
const scrapesMax = 4

// expiry is a Prometheus collector with one metric: the time at which the server's certificate expires. Without TLS
// there is no metric.
type expiry struct{ shown func() *x509.Certificate }

var descExpiry = prometheus.NewDesc("cantle_certificate_expiry_timestamp_seconds", "Expiry time of the server's certificate.", nil, nil)

// Describe implements prometheus.Collector.
func (expiry) Describe(out chan<- *prometheus.Desc) { out <- descExpiry }

// Collect implements prometheus.Collector.
func (e expiry) Collect(out chan<- prometheus.Metric) {
	if cert := e.shown(); cert != nil {
		out <- prometheus.MustNewConstMetric(descExpiry, prometheus.GaugeValue, float64(cert.NotAfter.Unix()))
	}
}

// serveMetrics serves the metrics of the given collectors and of the Go runtime by HTTP, at the path /metrics. If the
// listener breaks later, serveMetrics sends the error to failed.
func serveMetrics(ctx context.Context, address string, list []prometheus.Collector, failed chan<- error) (*metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(list...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesMax, Timeout: 10 * time.Second}))
	var answer http.Handler = mux
	if onlyHere(address) {
		answer = httplimit.OfThisMachine(mux, func(w http.ResponseWriter, host string) {
			http.Error(w, fmt.Sprintf("The metrics are for this machine only: ask localhost or its addresses, not %q, or say --allow-open and another --metrics-listen", host), http.StatusMisdirectedRequest)
		})
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cannotListen("--metrics-listen", address, err)
	}
	m := &metrics{addr: l.Addr(), server: &http.Server{Handler: answer, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}}
	go func() {
		if err := m.server.Serve(httplimit.Limit(l)); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return m, nil
}

// stop ends the HTTP server of the metrics; requests in progress may finish until ctx ends.
func (m *metrics) stop(ctx context.Context) error {
	if err := m.server.Shutdown(ctx); err != nil {
		return m.server.Close()
	}
	return nil
}

// MetricsURL returns the address at which the server serves its metrics, "" if it serves none.
func (d *Daemon) MetricsURL() string {
	if d.metrics == nil {
		return ""
	}
	return "http://" + d.metrics.addr.String() + "/metrics"
}
