package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Metrics returns the metrics for Prometheus of the server of a connection string, at most limit bytes of them. It reads
// them with the TLS options and the login of the connection string.
// Errors: AddressError; a server that serves no metrics, or only to clients of its own machine; errors of the
// connection.
func Metrics(ctx context.Context, uri string, limit int64) ([]byte, error) {
	p, err := pageOf(ctx, uri, "metrics")
	if err != nil {
		return nil, err
	}
	if p.at == "" {
		return nil, errors.New("the server was started without --metrics-listen")
	}
	at, err := reachable("metrics", p.at, p.hosts)
	if err != nil {
		return nil, err
	}
	if p.login.Source != "" {
		at += "?" + url.Values{"authSource": {p.login.Source}}.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if p.login.User != "" {
		r.SetBasicAuth(p.login.User, p.login.Password)
	}
	client := http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: p.config, DisableKeepAlives: true}}
	reply, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the address of the metrics answers %s", reply.Status)
	}
	return io.ReadAll(io.LimitReader(reply.Body, limit))
}
