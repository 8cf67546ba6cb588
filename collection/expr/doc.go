// Package expr is the aggregation expression language: it parses expressions once per command and
// evaluates them on raw documents.
//
//	BSON ── Parse ──► Expr ── Eval(env, doc, scratch) ──► bson.Value
//	                   │
//	                   ├── Paths   the fields that it reads
//	                   └── Append  canonical MQL again
//
// An Expr is immutable and safe for concurrent use; the state of an evaluation is in a Scratch, one per
// goroutine. Computed values are in the Scratch's arena, values of fields alias the document: they are
// valid until the Scratch is Reset or the document changes.
//
// Operators is the table of all operators in alphabetical order; a row points to the parse function,
// which most often is positional or named around a plain function of values. File names begin with the
// family of the operator.
//
// Glossary. Slot: the place in a Scratch of a variable that the expression itself defines ($let, $map,
// …). Folding: evaluating, at parse time, operators with only constant arguments. Nullish: missing, null
// or undefined.
//
// Source of the behaviour: Manual: reference/operator/aggregation; error codes as observed on MongoDB.
package expr
