package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Config holds the settings of an Exporter.
type Config struct {
	Endpoint string  // of the collector, such as http://127.0.0.1:4318; without a path, /v1/traces is added
	Headers  string  // "name=value,name=value", for collectors that authenticate senders
	Ratio    float64 // of the commands that are recorded, from 0 to 1
	Version  string  // of the server
	Instance string  // name of this server
	// Failed is called when spans were lost, at most once a minute. lost is the number of spans since the last call.
	Failed func(err error, lost int64)
}

// Exporter sends spans. Safe for concurrent use.
type Exporter struct {
	Config
	ratio        float64
	url          string
	headers      http.Header
	queue        chan span
	lost         atomic.Int64 // dropped spans
	client       http.Client
	lastReported time.Time
}

// Bounds.
const (
	queueMax    = 4096
	batchMax    = 512
	batchTime   = 2 * time.Second  // the longest wait of a span for a batch
	sendTime    = 10 * time.Second // timeout of the collector
	sendTries   = 3
	reportEvery = time.Minute
	replyMax    = 64 << 10 // bytes of a reply that are read
	pauseMax    = 10 * time.Second
)

// New makes an Exporter that sends nothing yet.
// Errors: invalid settings.
func New(cfg Config) (*Exporter, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--otlp-endpoint=%s: expected an address such as http://127.0.0.1:4318", cfg.Endpoint)
	}
	if !(cfg.Ratio >= 0 && cfg.Ratio <= 1) {
		return nil, fmt.Errorf("--otlp-ratio=%g: expected a number from 0 to 1", cfg.Ratio)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	e := &Exporter{Config: cfg, ratio: cfg.Ratio, url: u.String(), headers: http.Header{}, queue: make(chan span, queueMax), client: http.Client{Timeout: sendTime}}
	for pair := range strings.SplitSeq(cfg.Headers, ",") {
		name, v, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if pair == "" {
			continue
		}
		if !ok || name == "" {
			return nil, errors.New("--otlp-headers: expected name=value, several separated by commas")
		}
		e.headers.Set(name, v)
	}
	e.headers.Set("Content-Type", "application/json")
	e.headers.Set("Content-Encoding", "gzip")
	return e, nil
}

// add puts the span of a command into the queue. If the queue is full, the span is dropped and counted as lost:
// commands do not wait for the collector.
func (e *Exporter) add(s span) {
	select {
	case e.queue <- s:
	default:
		e.lost.Add(1)
	}
}

// Run sends the queued spans to the collector in batches until ctx ends, and then tries once to send the rest, at
// most queueMax.
func (e *Exporter) Run(ctx context.Context) {
	var batch []span
	timer := time.NewTimer(batchTime)
	defer timer.Stop()
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) < batchMax {
				continue
			}
		case <-timer.C:
		case <-ctx.Done():
			for len(e.queue) > 0 && len(batch) < queueMax {
				batch = append(batch, <-e.queue)
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTime)
			e.send(last, batch, 1)
			cancel()
			return
		}
		e.send(ctx, batch, sendTries)
		batch = batch[:0]
		timer.Reset(batchTime)
	}
}

// send sends a batch of spans, at most tries times if the collector is busy or unreachable. It reports lost spans to
// Config.Failed, at most once per reportEvery.
func (e *Exporter) send(ctx context.Context, batch []span, tries int) {
	var err error
	if len(batch) > 0 {
		err = e.try(ctx, batch, tries)
	}
	lost := e.lost.Load()
	if err != nil {
		lost = e.lost.Add(int64(len(batch)))
	}
	if lost > 0 && time.Since(e.lastReported) > reportEvery && e.Failed != nil {
		e.lastReported = time.Now()
		e.lost.Add(-lost)
		if err == nil {
			err = errors.New("more commands end than the collector takes: see --otlp-ratio")
		}
		e.Failed(err, lost)
	}
}

// try sends a batch of spans to the collector, at most tries times. Errors: the error of the last try.
func (e *Exporter) try(ctx context.Context, batch []span, tries int) error {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := errors.Join(json.NewEncoder(z).Encode(e.request(batch)), z.Close()); err != nil {
		return err
	}
	pause := time.Second
	for {
		again, after, err := e.post(ctx, body.Bytes())
		if tries--; err == nil || !again || tries == 0 {
			return err
		}
		if after > 0 {
			pause = min(after, pauseMax)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMax)
	}
}

// post sends a body of spans to the collector once. again reports whether a retry may succeed; after is the pause
// before it that the collector requests, 0 if none.
// Source: OpenTelemetry, "OTLP Specification", "OTLP/HTTP Response".
func (e *Exporter) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	r.Header = e.headers
	reply, err := e.client.Do(r)
	if err != nil {
		return true, 0, err
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(reply.Body, replyMax))
	switch reply.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		var reply struct {
			PartialSuccess struct {
				RejectedSpans json.Number
				ErrorMessage  string
			}
		}
		if json.Unmarshal(text, &reply) == nil && reply.PartialSuccess.ErrorMessage != "" {
			return false, 0, fmt.Errorf("the collector refused %s spans: %s", reply.PartialSuccess.RejectedSpans, reply.PartialSuccess.ErrorMessage)
		}
		return false, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
		return true, time.Duration(seconds) * time.Second, fmt.Errorf("%s answers %s", e.url, reply.Status)
	}
	return false, 0, fmt.Errorf("%s answers %s: %.200s", e.url, reply.Status, text)
}
