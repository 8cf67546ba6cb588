// Package bson is the value room: validated views and builders over raw BSON
// bytes, the comparison order of BSON values, and exact numbers.
//
// A document is a Raw: the complete bytes of one BSON document, validated once
// by Parse at the edge of the server and never decoded into Go maps on a hot
// path. A Value is a type tag plus the bytes of one element inside some Raw; it
// aliases that memory and lives as long as it does. Computed values live in an
// Arena, which the caller resets when it no longer needs them.
//
//	socket ── Parse ──► Raw ── Lookup/Fields ──► Value ── Compare
//	                     ▲                         │
//	                     └──────── Builder ◄───────┘
//
// Invariants: every Raw handed to another room passed Parse or came out of a
// Builder, so accessors do not check lengths again. Accessors on a Value whose
// type does not fit answer ok=false and never panic.
//
// Glossary. Raw: one complete document or array body. Value: a typed slice of a
// Raw. Class: the group of types that compare with each other (all numbers, or
// string and symbol). Arena: memory for computed values of one document.
//
// Source of the format: https://bsonspec.org/spec.html. Source of the order:
// Manual: reference/bson-type-comparison-order.
package bson
