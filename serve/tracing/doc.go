// Package tracing exports spans of commands to an OpenTelemetry collector, by OTLP over HTTP in its JSON form.
// docs/monitoring.md describes it for users.
//
// A span is made when its command has ended, from data that the server counts anyway, and waits for a batch in a
// queue of fixed length. Without a collector there is no observer, and commands do no work for tracing.
// OpenTelemetry's SDK would do the same with ten times the code in the binary: a server sends one kind of span, and
// the JSON form is part of the protocol.
//
//	span.go       the data of a span, and whether a command is recorded
//	context.go    the trace context in the comment of a command
//	export.go     the queue, batches and retries
//	otlp.go       the messages of OTLP
//
// Source: OpenTelemetry, "OTLP Specification" and "Semantic conventions for database client spans"; World Wide Web
// Consortium, "Trace Context".
package tracing
