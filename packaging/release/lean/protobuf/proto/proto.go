// Package proto is what Prometheus's libraries name of protobuf: their messages are plain
// structs here, which they print as text. They are never marshalled, as the server answers
// Prometheus with text.
package proto

import "google.golang.org/protobuf/reflect/protoreflect"

// Message is a message of protobuf.
type Message = protoreflect.ProtoMessage

// Float64 returns where a copy is.
func Float64(v float64) *float64 { return &v }

// Int32 returns where a copy is.
func Int32(v int32) *int32 { return &v }

// Int64 returns where a copy is.
func Int64(v int64) *int64 { return &v }

// String returns where a copy is.
func String(v string) *string { return &v }

// Uint32 returns where a copy is.
func Uint32(v uint32) *uint32 { return &v }

// Uint64 returns where a copy is.
func Uint64(v uint64) *uint64 { return &v }
