// Package project makes documents out of documents: the projection of a find,
// and the stages $project, $addFields, $set, $unset, $replaceRoot and
// $replaceWith.
//
//	spec ── ParseFind / ParseStage ──► Transform ── Apply(env, dst, doc, scratch) ──► fields of the result
//
// All but the last two are one tree of fields. It is applied in a single pass
// over the raw document: runs of fields that stay are copied as bytes, fields
// that change are replaced where they stand, and what is new comes at the end
// in the order of the specification. Expressions read the document as it was
// before.
//
// Arrays on the way are mapped over, nested ones too. In them, and wherever a
// path leads through a value that is no document, an inclusion drops the
// value, an exclusion keeps it, and a computed field replaces it by a document.
//
// Glossary. Inclusion, exclusion: the two modes of a projection. Computed: a
// field given by an expression. Kid: a node of the tree.
//
// Source of the behaviour: Manual: reference/operator/aggregation/project,
// reference/operator/projection; error codes as observed on MongoDB.
package project
