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

// Config says where spans go.
type Config struct {
	Endpoint string  // of the collector, such as http://127.0.0.1:4318; /v1/traces is added to one without a path
	Headers  string  // "name=value,name=value", for collectors that want to know who sends
	Ratio    float64 // of the commands that are recorded, from 0 to 1
	Version  string  // of the server
	Instance string  // which server it is
	// Failed is told what a collector does not take, at most once a minute.
	Failed func(err error, lost int64)
}

// Exporter sends spans. Safe for concurrent use.
type Exporter struct {
	Config
	ratio   float64
	url     string
	headers http.Header
	queue   chan span
	lost    atomic.Int64 // spans that were left out
	client  http.Client
	told    time.Time
}

// Bounds.
const (
	queueMax  = 4096
	batchMax  = 512
	batchTime = 2 * time.Second  // a span waits at most so long for others
	sendTime  = 10 * time.Second // a collector has to answer
	sendTries = 3
	tellEvery = time.Minute
	replyMax  = 64 << 10 // bytes of an answer that are read
	pauseMost = 10 * time.Second
)

// New makes an Exporter that sends nothing yet. Errors: what is wrong with the settings.
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

// add puts a span into the queue, or counts it as lost: nobody waits for a collector.
func (e *Exporter) add(s span) {
	select {
	case e.queue <- s:
	default:
		e.lost.Add(1)
	}
}

// Run sends batches until ctx ends, and then what is left, once.
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

// send sends a batch. A collector that is busy or cannot be reached is tried again.
func (e *Exporter) send(ctx context.Context, batch []span, tries int) {
	var err error
	if len(batch) > 0 {
		err = e.try(ctx, batch, tries)
	}
	lost := e.lost.Load()
	if err != nil {
		lost = e.lost.Add(int64(len(batch)))
	}
	if lost > 0 && time.Since(e.told) > tellEvery && e.Failed != nil {
		e.told = time.Now()
		e.lost.Add(-lost)
		if err == nil {
			err = errors.New("more commands end than the collector takes: see --otlp-ratio")
		}
		e.Failed(err, lost)
	}
}

// try sends a batch several times. Errors: the last of them.
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
			pause = min(after, pauseMost)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMost)
	}
}

// post sends a message. again is whether it is worth trying once more, and after how long, if
// the collector says so.
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
		var told struct {
			PartialSuccess struct {
				RejectedSpans json.Number
				ErrorMessage  string
			}
		}
		if json.Unmarshal(text, &told) == nil && told.PartialSuccess.ErrorMessage != "" {
			return false, 0, fmt.Errorf("the collector refused %s spans: %s", told.PartialSuccess.RejectedSpans, told.PartialSuccess.ErrorMessage)
		}
		return false, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
		return true, time.Duration(seconds) * time.Second, fmt.Errorf("%s answers %s", e.url, reply.Status)
	}
	return false, 0, fmt.Errorf("%s answers %s: %.200s", e.url, reply.Status, text)
}
