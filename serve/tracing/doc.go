// Package tracing sends a span for each command to a collector of OpenTelemetry, by OTLP over
// HTTP in its JSON form. docs/monitoring.md has it for users.
//
// A span is made when its command has ended, of what the server counts anyway, and waits in a
// queue of fixed length for a batch. Without a collector there is no observer, and commands
// do nothing for it. OpenTelemetry's SDK would do the same with ten times the code in the
// binary: a server sends one kind of span, and a JSON form is a part of the protocol.
//
//	span.go       what is known of a command, and whether it is recorded
//	context.go    the trace context in the comment of a command
//	export.go     the queue, batches, and what is tried again
//	otlp.go       the bytes that are sent
//
// Source: OpenTelemetry, "OTLP Specification" and "Semantic conventions for database client
// spans"; World Wide Web Consortium, "Trace Context".
package tracing
