package tracing

import (
	"encoding/hex"
	"strconv"
)

// The messages of OTLP in their JSON form: numbers of 64 bits are strings, ids are hexadecimal.
// Source: OpenTelemetry, "OTLP Specification", "JSON Protobuf Encoding".
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl"`
	}
	scopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     status      `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
	}
)

const (
	kindServer  = 2
	statusError = 2
	schemaURL   = "https://opentelemetry.io/schemas/1.36.0"
)

func text(key, v string) attribute { return attribute{key, value{Text: &v}} }

func double(key string, v float64) attribute { return attribute{key, value{Double: &v}} }

func trueAttribute(key string) attribute { b := true; return attribute{key, value{Bool: &b}} }

func integer(key string, v int64) attribute {
	s := strconv.FormatInt(v, 10)
	return attribute{key, value{Int: &s}}
}

// otlp returns the span as a message of OTLP. The message contains neither values of the command nor the texts of
// errors, which may quote values.
func (s *span) otlp() otlpSpan {
	name := s.operation
	if s.coll != "" {
		name += " " + s.coll
	}
	out := otlpSpan{TraceID: hex.EncodeToString(s.trace[:]), SpanID: hex.EncodeToString(s.id[:]), Name: name, Kind: kindServer,
		Start: strconv.FormatInt(s.begun.UnixNano(), 10), End: strconv.FormatInt(s.begun.Add(s.took).UnixNano(), 10)}
	if s.span != [8]byte{} {
		out.ParentID = hex.EncodeToString(s.span[:])
	}
	out.Attributes = []attribute{text("db.system.name", "mongodb"), text("db.operation.name", s.operation), text("db.namespace", s.db),
		double("cantle.request_charge", s.charge), integer("cantle.partitions_visited", int64(s.partitions)), integer("cantle.documents_loaded", s.documents)}
	if s.coll != "" {
		out.Attributes = append(out.Attributes, text("db.collection.name", s.coll))
	}
	if s.client != "" {
		out.Attributes = append(out.Attributes, text("client.address", s.client), integer("client.port", int64(s.port)))
	}
	if s.app != "" {
		out.Attributes = append(out.Attributes, text("cantle.application", s.app))
	}
	if s.throttled {
		out.Attributes = append(out.Attributes, trueAttribute("cantle.throttled"))
	}
	if s.code != 0 {
		out.Status.Code = statusError
		out.Attributes = append(out.Attributes, text("db.response.status_code", strconv.Itoa(int(s.code))), text("error.type", s.code.String()))
	}
	return out
}

// request returns the message for a batch.
func (e *Exporter) request(batch []span) exportRequest {
	var r resourceSpans
	r.Resource.Attributes = []attribute{text("service.name", "cantle"), text("service.version", e.Version), text("service.instance.id", e.Instance)}
	r.SchemaURL = schemaURL
	var in scopeSpans
	in.Scope.Name, in.Scope.Version = "github.com/cantledb/cantle", e.Version
	for i := range batch {
		in.Spans = append(in.Spans, batch[i].otlp())
	}
	r.ScopeSpans = []scopeSpans{in}
	return exportRequest{[]resourceSpans{r}}
}
