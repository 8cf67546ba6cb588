// Package bson has validated views and builders over raw BSON bytes, the comparison order of BSON
// values, and exact numbers.
//
// A document is a Raw: the complete bytes of one BSON document, validated once by Parse at the edge of
// the server and never decoded into Go maps on a hot path. A Value is a type tag plus the bytes of one
// element inside some Raw; it aliases that memory and is valid as long as the memory. Computed values
// are in an Arena, which the caller resets when it does not need them any more.
//
//	socket ── Parse ──► Raw ── Lookup/Fields ──► Value ── Compare
//	                     ▲                         │
//	                     └──────── Builder ◄───────┘
//
// Invariants: every Raw passed to another package was validated by Parse or made by a Builder, so
// accessors do not check lengths again. Accessors on a Value of another type return ok=false and never
// panic.
//
// Glossary. Raw: one complete document or array body. Value: a typed slice of a Raw. Class: the group of types that
// compare with each other, such as all numbers, or string and symbol. Arena: memory for computed values of one
// document.
//
// Source of the format: https://bsonspec.org/spec.html. Source of the order:
// Manual: reference/bson-type-comparison-order.
package bson
