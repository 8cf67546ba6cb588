package monitoring

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// collector is an OpenTelemetry collector for the test: it decodes requests with the real collector's code, and
// refuses the first one as busy, so that the server must retry.
type collector struct {
	t     *testing.T
	spans chan ptrace.Span
	tries int
	names map[string]string // of the resource
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.tries++; c.tries == 1 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Team") != "shop" {
		c.t.Errorf("%s %v", r.URL, r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		c.t.Error(err)
		return
	}
	text, err := io.ReadAll(z)
	if err != nil {
		c.t.Error(err)
	}
	if strings.Contains(string(text), "ada-7") {
		c.t.Errorf("a value is sent: %s", text)
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		c.t.Errorf("%v: %s", err, text)
		return
	}
	for _, in := range traces.ResourceSpans().All() {
		for k, v := range in.Resource().Attributes().All() {
			c.names[k] = v.AsString()
		}
		for _, scope := range in.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				copied := ptrace.NewSpan()
				s.CopyTo(copied)
				c.spans <- copied
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, "{}")
}

// await waits for the span of an operation.
func (c *collector) await(name string) ptrace.Span {
	c.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case s := <-c.spans:
			if s.Name() == name {
				return s
			}
		case <-limit:
			c.t.Fatalf("no span %s", name)
		}
	}
}

func attribute(s ptrace.Span, key string) string {
	if v, ok := s.Attributes().Get(key); ok {
		return v.AsString()
	}
	return ""
}

// Each command becomes a span that a collector can decode, with the charge of the command. If the command has a
// trace context, its span has the client's span as parent; if the context is marked as not sampled, there is no
// span.
func TestTraces(t *testing.T) {
	c := &collector{t: t, spans: make(chan ptrace.Span, 1000), names: map[string]string{}}
	endpoint := httptest.NewServer(c)
	defer endpoint.Close()
	s := start(t, "traced", "--otlp-endpoint", endpoint.URL, "--otlp-headers", "x-team=shop", "--otlp-ratio", "1")
	s.must(bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "orders"}, {Key: "shardKey", Value: "customer"}})
	s.must(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: "ada-7"}, {Key: "customer", Value: "ada-7"}}}}})
	s.must(bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "customer", Value: "ada-7"}}},
		{Key: "comment", Value: "checkout traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})
	s.must(bson.D{{Key: "count", Value: "orders"}, {Key: "comment", Value: bson.D{{Key: "traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}}}})
	_ = s.do(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: "ada-7"}, {Key: "customer", Value: "ada-7"}}}}, {Key: "ordered", Value: true}})
	_ = s.do(bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "$nothing", Value: "ada-7"}}}, {Key: "comment", Value: "bad"}})
	s.must(bson.D{{Key: "listCollections", Value: 1}})

	insert := c.await("insert orders")
	if insert.Kind() != ptrace.SpanKindServer || insert.TraceID().IsEmpty() || insert.SpanID().IsEmpty() || !insert.ParentSpanID().IsEmpty() || insert.EndTimestamp() < insert.StartTimestamp() {
		t.Errorf("%v %v %v", insert.Kind(), insert.TraceID(), insert.SpanID())
	}
	if d := time.Since(insert.StartTimestamp().AsTime()); d < 0 || d > time.Minute {
		t.Errorf("it began %s ago", d)
	}
	for key, want := range map[string]string{"db.system.name": "mongodb", "db.namespace": "shop", "db.collection.name": "orders", "db.operation.name": "insert",
		"client.address": "127.0.0.1", "cantle.partitions_visited": "1"} {
		if got := attribute(insert, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if v, _ := insert.Attributes().Get("cantle.request_charge"); v.Type() != pcommon.ValueTypeDouble || v.Double() < 4 {
		t.Errorf("charge %v", v.AsString())
	}
	found := c.await("find orders")
	if found.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" || found.ParentSpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("trace %s, below %s", found.TraceID(), found.ParentSpanID())
	}
	failed := c.await("find orders") // what came in between was not to be recorded
	if failed.Status().Code() != ptrace.StatusCodeError || attribute(failed, "db.response.status_code") != "2" || attribute(failed, "error.type") != "BadValue" {
		t.Errorf("%v %v", failed.Status().Code(), failed.Attributes().AsRaw())
	}
	if listed := c.await("listCollections"); attribute(listed, "db.collection.name") != "" {
		t.Error("a collection")
	}
	if c.names["service.name"] != "cantle" || c.names["service.version"] == "" {
		t.Errorf("%v", c.names)
	}
}
