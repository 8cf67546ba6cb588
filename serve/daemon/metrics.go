package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/serve/httplimit"
	"github.com/cantledb/cantle/wire/command"
)

// metrics is the HTTP endpoint for Prometheus.
type metrics struct {
	server *http.Server
	addr   net.Addr
	secure bool // it uses TLS
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

// metricsNeedLogin reports whether the metrics are for users with the role clusterMonitor only: they have another
// address than this machine's, at a server whose users log in.
func (c *Config) metricsNeedLogin() bool { return c.Auth && !c.Open && !onlyHere(c.Metrics) }

// serveMetrics serves the metrics of the given collectors and of the Go runtime by HTTP, at the path /metrics, with TLS
// if the server has certificates. If the listener breaks later, serveMetrics sends the error to d.failed.
func (d *Daemon) serveMetrics(ctx context.Context, s *command.Server, list []prometheus.Collector) (*metrics, error) {
	address := d.cfg.Metrics
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
	if d.cfg.metricsNeedLogin() {
		answer = console.Monitored(s, l.Addr(), answer)
	}
	m := &metrics{addr: l.Addr(), server: &http.Server{Handler: answer, ErrorLog: d.httpErrors("metrics"), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}}
	limited := httplimit.Limit(l)
	if config := d.tls.ofHTTP(); config != nil {
		limited, m.secure = tls.NewListener(limited, config), true
	}
	go func() {
		if err := m.server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- err
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
	scheme := "http://"
	if d.metrics.secure {
		scheme = "https://"
	}
	return scheme + d.metrics.addr.String() + "/metrics"
}
