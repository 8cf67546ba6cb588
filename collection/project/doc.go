// Package project makes documents out of documents: the projection of a find, and the stages $project,
// $addFields, $set, $unset, $replaceRoot and $replaceWith.
//
//	spec ── ParseFind / ParseStage ──► Transform ── Apply(env, dst, doc, scratch) ──► fields of the result
//
// All but the last two are stored as a tree of fields. It is applied in a single pass over the raw document: runs of
// unchanged fields are copied as bytes, changed fields are replaced in place, and new fields (in an inclusion, all
// computed ones) are added at the end in the order of the specification. Expressions read the original document.
//
// For an array on a path, even a nested one, the tree is applied to each element. For an element, or
// another value on a path, that is no document, an inclusion drops the value, an exclusion keeps it, and
// a computed field replaces it by a document.
//
// Glossary. Inclusion, exclusion: the two modes of a projection. Computed: a field given by an
// expression. Child: a node of the tree.
//
// Source of the behaviour: Manual: reference/operator/aggregation/project,
// reference/operator/projection; error codes as observed on MongoDB.
package project
