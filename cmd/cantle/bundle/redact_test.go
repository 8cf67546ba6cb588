package bundle

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/wire/command/status"
)

// TestLogLine checks what stays of a line of the log.
func TestLogLine(t *testing.T) {
	for _, x := range []struct{ line, want string }{
		{`{"level":"warn","error":"E11000 dup key: { a: \"v1\" }","collection":"a.b","bytes":5,"message":"a job failed"}`, `{"bytes":5,"collection":"a.b","level":"warn","message":"a job failed"}`},
		{`{"level":"info","attr":{"type":"command","ns":"a.b","command":{"find":"b","filter":{"a":"v1"}},"durationMillis":7,"errMsg":"v1","remote":"10.0.0.1:5"},"message":"Slow query"}`,
			`{"attr":{"command":["filter","find"],"durationMillis":7,"ns":"a.b","type":"command"},"level":"info","message":"Slow query"}`},
		{`{"level":"warn","value":"v1","user":"v1","message":"the value {a: \"v1\"} is large"}`, `{"level":"warn","message":"the value …"}`},
		{`{"level":"warn","message":"cut in the mid`, ""},
		{`2026-11-27 plain v1`, ""},
	} {
		got, ok := logLine(x.line)
		if got != x.want || ok != (x.want != "") {
			t.Errorf("%s\nbecomes %s\nis not  %s", x.line, got, x.want)
		}
	}
}

// TestRedacted checks that names stay, and values go, also those of unlisted fields.
func TestRedacted(t *testing.T) {
	op := operation(bsontest.Doc(t, `{opid: 7, ns: "a.b", client: "10.0.0.1:5", command: {find: "b", filter: {a: "v1"}}, cursor: {originatingCommand: {aggregate: "b", pipeline: ["v1"]}}, future: {x: "v1"},
		msg: "v1", effectiveUsers: [{user: "v1", db: "admin"}], planSummary: "IXSCAN { a: 1 }", transaction: {parameters: {readConcern: {level: "v1"}}}}`))
	index := keepOrShape(bsontest.Doc(t, `{v: 2, key: {a: 1, b: "hashed"}, name: "x", partialFilterExpression: {a: {$in: ["v1", {b: ["v1"]}]}}, future: "v1"}`), indexFields)
	parts := partitions(bsontest.Doc(t, `{shardKeyDefinition: {k: 1}, warnings: ["v1 is large"], largestValues: [{k: "v1"}], future: "v1",
		partitions: [{id: "0", min: {k: "v1"}, max: {k: "v1"}, documents: 5, hottestByRU: [{value: {k: "v1"}, k: "v1", ru: 3.5}], future: {k: "v1"}}]}`))
	for what, d := range map[string]string{"operation": ejson.String(op), "index": ejson.String(index), "partitions": ejson.String(parts)} {
		if strings.Contains(d, "v1") || strings.Contains(d, "10.0.0.1") {
			t.Errorf("%s has a value: %s", what, d)
		}
	}
	for what, want := range map[string]bool{
		"operation":  strings.Contains(ejson.String(op), `"command":["find","filter"]`) && strings.Contains(ejson.String(op), "IXSCAN"),
		"index":      strings.Contains(ejson.String(index), `{"a":{"$in":["?string",{"b":["?string"]}]}}`) && strings.Contains(ejson.String(index), `"b":"hashed"`),
		"partitions": strings.Contains(ejson.String(parts), "3.5") && strings.Contains(ejson.String(parts), "shardKeyDefinition"),
	} {
		if !want {
			t.Errorf("%s lacks what should stay: %s%s%s", what, ejson.String(op), ejson.String(index), ejson.String(parts))
		}
	}
	for text, want := range map[string]string{"mongodb://u:p@h:1/": "mongodb://***@h:1/", "--data=./x": "--data=./x", "tikv://h:1": "tikv://h:1",
		"http://u:p@h/v1?key=v1": "http://***@h/v1?***", "--otlp-endpoint=http://h/?key=v1": "--otlp-endpoint=http://h/?***", "http://h/?key=a@v1": "http://***"} {
		if got := status.WithoutCredentials(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
